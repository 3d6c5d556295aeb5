package sqlite

import (
	"os"
	"sync"
	"time"
)

const (
	// walPages is how many pages the -wal file has, of 4 KiB, before they are written back into the database file. A page
	// that was written often meanwhile is written back once: with SQLite's own 1,000 there were a tenth fewer creations in
	// 1,000,000 users with random emails.
	walPages = 16_000
	// quietPages are written back when none were for quietTime. A flush takes 165 µs while the -wal file grows, and 100
	// where it is written over: one client makes an eighth more creations in the 14 MB that it fills by then than in a file
	// that grows to 64.
	quietPages = 1_000
	quietTime  = 500 * time.Millisecond
	// fewPages are written back and flushed in a millisecond or two.
	fewPages = 40
	// walLimit is when readers that follow each other, each beginning before the last has ended, are waited for.
	walLimit = 4 * walPages
	// walPace is how long the pages are not counted again.
	walPace = 50 * time.Millisecond
)

// checkpoints write the -wal file back into the database file. SQLite's own are a part of every so many commits, and the
// writes wait for them. These run beside the commits, and only the last few pages are written back between two of them:
// then the next commit begins the -wal file anew.
//
// SQLite flushes the database file only with the last page of the -wal file, and so between two commits. What it wrote
// before is flushed here, beside the commits: otherwise they waited 50 ms for 16,000 pages.
type checkpoints struct {
	conn   connection
	file   *os.File      // the database file
	commit chan struct{} // somebody has committed
	ended  chan struct{}

	running sync.Mutex // SQLite refuses two at once
}

// startCheckpoints takes over from SQLite's own for the connection that writes. Pause runs a function while no commit is
// under way.
func startCheckpoints(path string, writer connection, pause func(func())) (*checkpoints, error) {
	conn, err := connect(path)
	if err == nil {
		err = conn.script("PRAGMA busy_timeout(50)") // writes wait as long, at walLimit
	}
	if err == nil {
		err = writer.script("PRAGMA wal_autocheckpoint(0)")
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

// committed is told of each commit.
func (c *checkpoints) committed() {
	select {
	case c.commit <- struct{}{}:
	default: // it is going to be looked at
	}
}

// loop looks after commits.
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

// schedule says when the pages of the -wal file are written back.
type schedule struct {
	last  time.Time // when they last were
	seen  int       // how many there were at the last look
	least int       // how many make another attempt worth it
}

// due reports whether so many pages are written back now. A reader may keep them from it: then the next attempt is made
// when there are some more.
func (s *schedule) due(pages int, now time.Time) bool {
	if pages < s.seen { // the -wal file was begun anew
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

// writeBack writes all pages back, most of them beside commits. When the file has more than limit, the last are written
// back when no reader uses the file any more.
func (c *checkpoints) writeBack(pause func(func()), limit int) {
	now := c.run("NOOP")
	for pass := 0; pass < 5 && now.left() > fewPages; pass++ {
		c.run("PASSIVE")
		_ = c.file.Sync() // SQLite's own is what counts
		now = c.run("NOOP")
	}
	mode := "PASSIVE"
	if now.pages > limit {
		mode = "RESTART" // the lists that are kept are read anew, for nothing
	}
	pause(func() { c.run(mode) })
}

// checkpoint says how many pages the -wal file has, and how many of them are in the database file.
type checkpoint struct{ pages, back int }

func (c checkpoint) left() int { return c.pages - c.back }

// run writes pages back; NOOP only counts. A failure, such as a full disk, leaves them in the -wal file: the next tries
// again.
func (c *checkpoints) run(mode string) (done checkpoint) {
	c.running.Lock()
	defer c.running.Unlock()
	_ = c.conn.query(func(r row) error {
		done = checkpoint{int(max(0, r.number(1))), int(max(0, r.number(2)))}
		return nil
	}, "PRAGMA wal_checkpoint("+mode+")")
	return done
}

// close waits for what is under way. There are no more commits.
func (c *checkpoints) close() {
	close(c.commit)
	<-c.ended
	c.conn.close()
}

// closeFile closes the database file when no connection has it open any more: the end of one of its descriptors ends the
// locks of all (fcntl, POSIX).
func (c *checkpoints) closeFile() { _ = c.file.Close() }
