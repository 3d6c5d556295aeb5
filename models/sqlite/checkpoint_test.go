package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// largeName makes each creation write 64 pages.
var largeName = strings.Repeat("n", 64*4096)

// createLarge creates n users with large names by 8 clients, which leave no moment without a commit.
func createLarge(t *testing.T, users *Users, n int) {
	t.Helper()
	before, err := users.Count(ctx, models.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for client := range 8 {
		wait.Go(func() {
			for i := range n / 8 {
				email := fmt.Sprintf("%d-%d-%d", before, client, i)
				if _, err := users.Create(ctx, models.NewUser{Name: largeName, Email: email}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

func walPagesOf(t *testing.T, users *Users) int64 { return walSize(t, users) / 4096 }

func TestTheWALFileIsBoundedBesideWritesAndReadsThatNeverCease(t *testing.T) {
	users := openUsers(t, 0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for query := (models.Query{Limit: 10}); ; {
			if _, err := users.Count(ctx, query); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	createLarge(t, users, 3*walPages/64)
	close(done)
	<-stopped
	if pages := walPagesOf(t, users); pages < quietPages || pages > walPages*5/2 {
		t.Errorf("the -wal file has %d pages", pages)
	}
}

func TestPagesAreWrittenBackWhenThereAreManyOrNoneWereForAWhile(t *testing.T) {
	t.Parallel()
	const soon, later = quietTime - 1, quietTime
	type look struct {
		after time.Duration // the look before it
		pages int
		due   bool
	}
	for name, looks := range map[string][]look{
		"few":                          {{later, quietPages - 1, false}},
		"some, soon":                   {{soon, walPages - 1, false}},
		"some, later":                  {{later, quietPages, true}},
		"some, looked at twice":        {{soon, quietPages, false}, {1, quietPages, true}},
		"many":                         {{0, walPages, true}},
		"many, each in a file anew":    {{0, walPages, true}, {0, walPages - 1, false}, {0, walPages, true}},
		"some, each in a file anew":    {{later, quietPages, true}, {0, 3, false}, {soon, quietPages, false}, {1, quietPages, true}},
		"some, which a reader keeps":   {{later, quietPages, true}, {later, quietPages, false}, {1, 2*quietPages - 1, false}, {1, 2 * quietPages, true}},
		"many, which a reader keeps":   {{0, walPages, true}, {0, walPages + quietPages - 1, false}, {0, walPages + quietPages, true}},
		"many, until a reader lets go": {{0, 3 * walPages, true}, {0, 3, false}, {0, walPages, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			plan := schedule{last: now}
			for i, look := range looks {
				now = now.Add(look.after)
				if due := plan.due(look.pages, now); due != look.due {
					t.Errorf("look %d: %v", i+1, due)
				}
			}
		})
	}
}

func TestAQuietServiceUsesTheFirstPagesOfTheWALFileAgain(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	createLarge(t, users, 2*quietPages/64)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); users.writer.checkpoints.run("NOOP").pages > quietPages; <-tick.C {
		storetest.Create(t, users, fmt.Sprint(time.Now().UnixNano()))
		if time.Now().After(deadline) {
			t.Fatal("the -wal file was not begun anew")
		}
	}
	if pages := walPagesOf(t, users); pages > walPages {
		t.Errorf("it has %d pages", pages)
	}
}

// What was committed is written back beside the commits, and what is left for the moment without them is little.
func TestThePagesAreWrittenBackBesideTheCommits(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	createLarge(t, users, 8) // too little to be written back by itself
	checkpoints := users.writer.checkpoints
	if before := checkpoints.run("NOOP"); before.left() < 10*fewPages {
		t.Fatalf("before it %v are in the -wal file", before)
	}
	paused := false
	checkpoints.writeBack(func(run func()) {
		paused = true
		if now := checkpoints.run("NOOP"); now.left() > fewPages {
			t.Errorf("%d pages are left for the moment without commits", now.left())
		}
		run()
	}, walLimit)
	if !paused {
		t.Error("the last pages were not written back in a moment without commits")
	}
	if now := checkpoints.run("NOOP"); now.left() != 0 {
		t.Errorf("%d pages are left", now.left())
	}
}

// A reader that holds on keeps the -wal file, and no write waits for it. When it lets go, the file is used again.
func TestTheWALFileIsUsedAgainWhenAReaderLetsGo(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	sqlitetest.Run(t, other, "BEGIN", "SELECT count(*) FROM users")
	createLarge(t, users, 2*walPages/64)
	held := walPagesOf(t, users)
	if held < 2*walPages {
		t.Errorf("beside a reader the -wal file has %d pages", held)
	}
	sqlitetest.Run(t, other, "COMMIT")
	for deadline := time.Now().Add(time.Minute); int64(users.writer.checkpoints.run("NOOP").pages) > walPages; {
		createLarge(t, users, 8)
		if time.Now().After(deadline) {
			t.Fatalf("without the reader the -wal file goes on behind %d pages", int64(users.writer.checkpoints.run("NOOP").pages))
		}
	}
}

// Readers that follow each other, each beginning before the last has ended, would let the file grow without an end.
func TestALargeWALFileWaitsForItsReader(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	createLarge(t, users, 8)
	checkpoints := users.writer.checkpoints
	checkpoints.running.Lock() // what looks after commits uses the connection too
	err := checkpoints.conn.Script("PRAGMA busy_timeout(60000)")
	checkpoints.running.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	sqlitetest.Run(t, other, "BEGIN", "SELECT count(*) FROM users")
	before := checkpoints.run("NOOP").pages
	checkpoints.writeBack(func(last func()) {
		written := make(chan struct{})
		go func() { defer close(written); last() }()
		select {
		case <-written:
			t.Error("it did not wait for the reader")
		case <-time.After(4 * busyTick):
		}
		sqlitetest.Run(t, other, "COMMIT")
		<-written
	}, before-1)
	storetest.Create(t, users, "after")
	if now := checkpoints.run("NOOP").pages; now >= before {
		t.Errorf("the -wal file had %d pages, and goes on with %d", before, now)
	}
}

// SQLite refuses a checkpoint while another one runs.
func TestOneCheckpointRunsAtOnce(t *testing.T) {
	t.Parallel()
	checkpoints := openUsers(t, 0).writer.checkpoints
	checkpoints.running.Lock()
	ended := make(chan struct{})
	go func() { defer close(ended); checkpoints.run("FULL") }()
	select {
	case <-ended:
		t.Error("another one ran beside it")
	case <-time.After(2 * busyTick):
	}
	checkpoints.running.Unlock()
	<-ended
}

// The connection of the checkpoints is closed when the one under way has ended, and the file last.
func TestClosingWaitsForTheCheckpointUnderWay(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	users.writer.checkpoints.running.Lock() // so that they leave the pages to others
	defer users.writer.checkpoints.running.Unlock()
	createLarge(t, users, 2*quietPages/64)
	paused, goOn := make(chan struct{}), make(chan struct{})
	checkpoints, err := startCheckpoints(users.writer.files.database.path, openTestConnection(t, users).Connection, func(run func()) {
		close(paused)
		<-goOn
		run()
	})
	if err != nil {
		t.Fatal(err)
	}
	checkpoints.committed()
	<-paused
	closed := make(chan struct{})
	go func() { defer close(closed); checkpoints.close() }()
	select {
	case <-closed:
		t.Error("it did not wait")
	case <-time.After(2 * busyTick):
	}
	close(goOn)
	<-closed
	checkpoints.closeFile()
	if err := checkpoints.file.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
}

func TestClosingLeavesNoWALFile(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "ada")
	if err := users.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if users.writer.files.wal.isSameFile() {
		t.Error("it is there")
	}
}
