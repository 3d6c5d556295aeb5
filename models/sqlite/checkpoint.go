package sqlite

import (
	"fmt"
	"os"
	"sync"
	"time"

	"users-api/models/sqlite/dbfile"
)

const (
	// walPages is how many pages of 4 KiB the -wal file has before they are written back into the database file. A page
	// that was written several times by then is written back once: with SQLite's own 1,000 pages there were a tenth
	// fewer creations in 1,000,000 users with random emails.
	walPages = 16_000
	// quietPages are written back when no pages were written back for quietTime. A flush takes 165 µs while the -wal
	// file grows, and 100 µs where it is overwritten: one client makes an eighth more creations in the 14 MB that the
	// file reaches by then than in a file that grows to 64 MB.
	quietPages = 1_000
	quietTime  = 500 * time.Millisecond
	// fewPages take a millisecond or two to write back and flush.
	fewPages = 40
	// walLimit is the number of pages from which a checkpoint waits for readers that overlap without a gap.
	walLimit = 4 * walPages
	// walPace is the least time between two counts of the pages.
	walPace = 50 * time.Millisecond
)

// checkpoints write the -wal file back into the database file. SQLite's own checkpoints are part of some commits, and
// writes wait for them. These run beside the commits, and only the last few pages are written back between two commits:
// then the next commit restarts the -wal file.
//
// SQLite flushes the database file only with the last page of the -wal file, and so between two commits. What it wrote
// before is flushed here, beside the commits: otherwise they waited 50 ms for 16,000 pages.
type checkpoints struct {
	conn   *dbfile.Connection
	file   *os.File      // the database file
	commit chan struct{} // signals a commit
	ended  chan struct{}

	running sync.Mutex // SQLite refuses two at once
}

// startCheckpoints replaces SQLite's own checkpoints for the connection that writes. Pause runs a function while no
// commit is under way.
func startCheckpoints(path string, writer *dbfile.Connection, pause func(func())) (*checkpoints, error) {
	conn, err := connect(path)
	if err == nil {
		err = conn.Script(waitBriefly) // at walLimit, writes wait this long
	}
	if err == nil {
		err = writer.Script(noCheckpoints)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	c := &checkpoints{conn: conn, file: file, commit: make(chan struct{}, 1), ended: make(chan struct{})}
	go c.loop(pause)
	return c, nil
}

func (c *checkpoints) committed() {
	select {
	case c.commit <- struct{}{}:
	default: // a signal is pending already
	}
}

func (c *checkpoints) loop(pause func(func())) {
	defer close(c.ended)
	pace := time.NewTicker(walPace)
	defer pace.Stop()
	var plan schedule
	for range c.commit {
		if plan.due(c.run("NOOP").pages, time.Now()) {
			c.writeBack(pause, walLimit)
		}
		<-pace.C
	}
}

// schedule decides when the pages of the -wal file are written back.
type schedule struct {
	last  time.Time // when they were last written back
	seen  int       // how many there were at the last check
	least int       // how many make another attempt worthwhile
}

// due reports whether this many pages are written back now. A reader may prevent it: then the next attempt waits for
// some more pages.
func (s *schedule) due(pages int, now time.Time) bool {
	if pages < s.seen { // the -wal file was restarted
		s.least = 0
	}
	s.seen = pages
	enough := walPages
	if now.Sub(s.last) >= quietTime {
		enough = quietPages
	}
	if pages < max(enough, s.least) {
		return false
	}
	s.last, s.least = now, pages+quietPages
	return true
}

// writeBack writes all pages back, most of them beside commits. If the file has more than limit pages, the last ones
// are written back when no reader uses the file any more.
func (c *checkpoints) writeBack(pause func(func()), limit int) {
	now := c.run("NOOP")
	for pass := 0; pass < 5 && now.left() > fewPages; pass++ {
		c.run("PASSIVE")
		_ = c.file.Sync() // SQLite's own flush is the one that counts
		now = c.run("NOOP")
	}
	mode := "PASSIVE"
	if now.pages > limit {
		mode = "RESTART" // costs a needless refresh of the cached list
	}
	pause(func() { c.run(mode) })
}

// checkpoint says how many pages the -wal file has, and how many of them are already in the database file.
type checkpoint struct{ pages, back int }

func (c checkpoint) left() int { return c.pages - c.back }

// run writes pages back; NOOP only counts them. After a failure, such as a full disk, they stay in the -wal file, and
// the next run tries again.
func (c *checkpoints) run(mode string) (done checkpoint) {
	c.running.Lock()
	defer c.running.Unlock()
	_ = c.conn.Query(func(r dbfile.Row) error {
		done = checkpoint{int(max(0, r.Number(1))), int(max(0, r.Number(2)))}
		return nil
	}, fmt.Sprintf(checkpointAs, mode))
	return done
}

// close waits for the checkpoint under way. There must be no more commits.
func (c *checkpoints) close() {
	close(c.commit)
	<-c.ended
	c.conn.Close()
}

// closeFile closes the database file when no connection has it open any more: closing one descriptor of a file releases
// all locks of the process on it (fcntl, POSIX).
func (c *checkpoints) closeFile() { _ = c.file.Close() }
