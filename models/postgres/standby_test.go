//go:build postgres

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// pair is a primary, its standby, and a database with a service that reads from the standby.
type pair struct {
	primary, standby   *postgresql.Server
	database, standbys string
	users              *Users
	log                *lockedBuffer
}

func newPair(t *testing.T, settings ...string) pair {
	t.Helper()
	return pairOf(t, postgresql.Start(t, settings...))
}

func pairOf(t *testing.T, primary *postgresql.Server) pair {
	t.Helper()
	p := pair{primary: primary, standby: primary.Standby(t), database: primary.URL("users")}
	postgresql.SQL(t, primary.URL("postgres"), "CREATE DATABASE users")
	p.primary.AwaitReplay(t, p.standby)
	p.standbys = beside(t, p.database, p.standby)
	p.users, p.log = openLogged(t, p.database, p.standbys)
	storetest.Create(t, p.users, "ada")
	p.awaitStandby(t)
	return p
}

func openLogged(t *testing.T, database, standbys string) (*Users, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	users, err := OpenWithStandbys(ctx, database, standbys, storetest.Fields(), 8<<20, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users, log
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// heavy are the reads that a standby may answer. Each returns the names of users, or how many there are.
func heavy(t testing.TB, users *Users) map[string]func() string {
	all := reads(t, users)
	delete(all, "one user")
	all["a count"] = func() string {
		n, err := users.Count(ctx, models.Query{})
		if err != nil {
			t.Error(err)
		}
		return strings.Repeat("ada", int(n))
	}
	return all
}

// byStandby reports whether a standby answers a read.
func byStandby(users *Users, read func() string) bool {
	before := users.standbys.answered.Load()
	read()
	return users.standbys.answered.Load() > before
}

// awaitStandby returns when a standby answers.
func (p pair) awaitStandby(t testing.TB) {
	t.Helper()
	await(t, "a standby answers", func() bool { return byStandby(p.users, heavy(t, p.users)["a count"]) })
}

// expectPrimary expects that every read is answered in time by the primary, and shows what was written last.
func (p pair) expectPrimary(t *testing.T) {
	t.Helper()
	postgresql.SQL(t, p.database, "UPDATE users SET name = name || 'ada'")
	for what, read := range heavy(t, p.users) {
		begun, text := time.Now(), ""
		if byStandby(p.users, func() string { text = read(); return text }) {
			t.Errorf("%s is answered by a standby", what)
		}
		if !strings.Contains(text, "ada") || time.Since(begun) > 2*time.Second {
			t.Errorf("after %s, %s is %q", time.Since(begun), what, text)
		}
	}
}

// A standby that replays late is no excuse: every read shows every commit that was complete when it was requested, also of a
// program that does not wait for the disk, and whether or not others commit at the same time.
func TestAReadOfAStandbyShowsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	busy, done := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer done()
	others.Go(func() {
		for i := 0; busy.Err() == nil; i++ {
			_, _ = p.users.Create(busy, models.NewUser{Name: "other", Email: fmt.Sprint("other", i)})
		}
	})
	by, other := 0, connected(t, p.database)
	for i := range 60 {
		name := fmt.Sprint("ada", i)
		for what, read := range heavy(t, p.users) {
			if what == "a count" {
				continue
			}
			other(fmt.Sprintf("SET synchronous_commit = %s; UPDATE users SET name = '%s %s' WHERE email = 'ada'",
				[]string{"on", "off"}[i%2], name, what))
			text := ""
			if byStandby(p.users, func() string { text = read(); return text }) {
				by++
			}
			if !strings.Contains(text, name+" "+what) {
				t.Fatalf("%s after %s is %.100q", what, name, text)
			}
		}
	}
	if t.Logf("a standby answered %d of 240", by); by < 24 {
		t.Error("the standby answered too few")
	}
}

// connected returns what runs statements on one connection.
func connected(t *testing.T, database string) func(string) {
	t.Helper()
	other := begin(t, database)
	other.do("COMMIT")
	return other.do
}

func TestAReadWaitsForNoStandbyThatIsLate(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	postgresql.SQL(t, p.standby.URL("postgres"), "SELECT pg_wal_replay_pause()")
	p.standby.WaitUntil(t, "paused", "SELECT pg_get_wal_replay_pause_state()")
	p.expectPrimary(t)
	postgresql.SQL(t, p.standby.URL("postgres"), "SELECT pg_wal_replay_resume()")
	p.awaitStandby(t)
}

// A commit that waits for a synchronous standby is on standbys before the primary shows it, and may be there for long. No read
// shows it before all do.
func TestNoReadShowsWhatThePrimaryDoesNotShowYet(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	postgresql.SQL(t, p.primary.URL("postgres"), "ALTER SYSTEM SET synchronous_standby_names = 'away'")
	p.primary.Reload(t)
	other := connected(t, p.database)
	committed := make(chan struct{})
	go func() { defer close(committed); other("UPDATE users SET name = 'grace'") }()
	await(t, "the standby shows the commit", func() bool {
		return postgresql.Ask(t, p.standbys, "SELECT max(name) FROM users") == "grace"
	})
	for what, read := range heavy(t, p.users) {
		if text := read(); !strings.Contains(text, "ada") || strings.Contains(text, "grace") {
			t.Errorf("%s is %q", what, text)
		}
	}
	postgresql.SQL(t, p.primary.URL("postgres"), "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	<-committed
	await(t, "a standby shows it", func() bool {
		text := ""
		return byStandby(p.users, func() string { text = heavy(t, p.users)["a page"](); return text }) && strings.Contains(text, "grace")
	})
}

func TestAStandbyThatIsAwayIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for way, methods := range map[string][2]func(testing.TB){
		"paused":  {p.standby.Pause, p.standby.Resume},
		"stopped": {p.standby.Stop, func(t testing.TB) { p.standby.StartAgain(t) }},
		"killed":  {p.standby.Kill, func(t testing.TB) { p.standby.StartAgain(t) }},
	} {
		methods[0](t)
		heavy(t, p.users)["a page"]()
		if p.users.standbys.servers[0].isAsked() {
			t.Errorf("a standby that is %s is asked again at once", way)
		}
		p.expectPrimary(t)
		if !strings.Contains(p.log.String(), "a standby does not answer reads") {
			t.Errorf("the log says nothing of a standby that is %s: %s", way, p.log)
		}
		methods[1](t)
		p.awaitStandby(t)
	}
	if log := p.log.String(); !strings.Contains(log, "answers reads again") || strings.Contains(log, "pass") {
		t.Errorf("the log is %s", log)
	}
}

// The start waits for no standby.
func TestAStartGoesOnWithoutItsStandby(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.standby.Stop(t)
	begun := time.Now()
	p.users, p.log = openLogged(t, p.database, p.standbys)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	p.expectPrimary(t)
	p.standby.StartAgain(t)
	p.awaitStandby(t)
}
