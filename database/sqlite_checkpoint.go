package database

import (
	"fmt"
	"os"
	"sync"
	"time"

	"gorm.io/gorm"

	"users-api/database/dbfile"
)

const (
	// walPages of 4 KiB are written back, at most once in walTime: a page that was written several times, only once.
	// SQLite's own checkpoints made creations among 1,000,000 users with random emails a tenth slower. A flush takes
	// 165 µs while the -wal file grows, and 100 µs where it is overwritten, so it is not left to grow.
	walPages = 1_000
	walTime  = 500 * time.Millisecond
	fewPages = 40     // take a millisecond or two to write back and flush
	walLimit = 64_000 // from so many pages on, a checkpoint waits for readers that overlap without a gap
)

// checkpoints write the -wal file back into the database file. SQLite's own are part of some commits, and writes wait
// for them. These run beside the commits, and only the last few pages are written back between two: then the next
// commit restarts the -wal file. SQLite flushes the database file only with the last page, between two commits. What it
// wrote before is flushed here, beside the commits: otherwise they waited 50 ms for 16,000 pages.
type checkpoints struct {
	db     *gorm.DB
	file   *os.File      // the database file; closing it before the last connection would release all locks (POSIX)
	commit chan struct{} // signals a commit
	stop   chan struct{} // closed by close
	ended  chan struct{}

	running sync.Mutex // SQLite refuses two at once
}

// startCheckpoints replaces SQLite's own checkpoints. An idle service, too, looks at the names of the files once a
// second.
func (s *sqlitePool) startCheckpoints(path string) (c *checkpoints, err error) {
	c = &checkpoints{commit: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	// At walLimit, writes wait for busyTick.
	if c.db, err = dbfile.Open(path, dbfile.ReadWrite, pragmas(busyTick)...); err == nil {
		err = s.writer.Exec("PRAGMA wal_autocheckpoint(0)").Error
	}
	if err == nil {
		c.file, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err == nil {
		go c.loop(s)
	}
	return c, err
}

func (c *checkpoints) loop(s *sqlitePool) {
	defer close(c.ended)
	pace, watch := time.NewTicker(walTime), time.NewTicker(time.Second)
	defer pace.Stop()
	defer watch.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-watch.C:
			select {
			case s.writeLock <- struct{}{}:
				_ = s.checkFiles()
				<-s.writeLock
			default: // a commit looks
			}
			continue
		case <-c.commit:
		}
		select {
		case <-pace.C: // looking after each commit would make creations by one client a tenth slower
		case <-c.stop:
			return
		}
		pages, left := c.run(c.db, "NOOP")
		if pages < walPages {
			continue
		}
		for pass := 0; pass < 5 && left > fewPages; pass++ {
			c.run(c.db, "PASSIVE")
			_ = c.file.Sync() // SQLite's own flush is the one that counts
			pages, left = c.run(c.db, "NOOP")
		}
		mode := "PASSIVE"
		if pages > walLimit {
			mode = "RESTART" // makes the list in memory be read again
		}
		s.writeLock <- struct{}{}
		c.run(c.db, mode)
		<-s.writeLock
	}
}

// run writes pages back, and returns how many the -wal file has, and how many of them are left; NOOP only counts them.
// After a failure, such as a full disk, they stay in the -wal file, and the next run tries again.
func (c *checkpoints) run(db *gorm.DB, mode string) (pages, left int) {
	c.running.Lock()
	defer c.running.Unlock()
	var busy, back int
	_ = db.Raw(fmt.Sprintf("PRAGMA wal_checkpoint(%s)", mode)).Row().Scan(&busy, &pages, &back)
	return max(0, pages), max(0, pages) - max(0, back)
}

// close waits for the checkpoint under way. There must be no more commits.
func (c *checkpoints) close() {
	close(c.stop)
	<-c.ended
	dbfile.Close(c.db)
}
