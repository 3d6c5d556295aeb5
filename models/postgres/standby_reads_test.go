//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// fill stores this many users besides.
func (p pair) fill(t *testing.T, users int) {
	t.Helper()
	postgresql.SQL(t, p.database, fmt.Sprintf("INSERT INTO users (name, email) SELECT repeat('n', 100), i FROM generate_series(1, %d) i", users))
	p.primary.AwaitReplay(t, p.standby)
}

// A standby ends a read that is in the way of what it replays. The primary answers then, from the beginning.
func TestThePrimaryAnswersAReadThatAStandbyBreaksOff(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	postgresql.SQL(t, p.standby.URL("postgres"), "ALTER SYSTEM SET max_standby_streaming_delay = 0", "SELECT pg_reload_conf()")
	p.standby.WaitUntil(t, "0", "SHOW max_standby_streaming_delay")
	for _, use := range []use{export, paging} {
		await(t, "a standby is asked", func() bool { return byStandby(p.users, heavy(t, p.users)["a count"]) })
		p.fill(t, 1000)
		var where []bool
		names := 0
		err := p.users.inSnapshot(ctx, use, func(ctx context.Context, conn connection, inside *reader) error {
			where = append(where, conn.after != nil)
			if conn.after != nil {
				postgresql.SQL(t, p.database, "DELETE FROM users WHERE email <> 'ada'", "VACUUM users")
				p.primary.AwaitReplay(t, p.standby)
			}
			names = 0
			for _, err := range models.Each(inside.Select(ctx, models.Query{})) {
				if names++; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || fmt.Sprint(where) != "[true false]" || names != 1 {
			t.Errorf("it was asked of standbys %v, and has %d users, %v", where, names, err)
		}
	}
}

// An export is sent when a standby has sent it whole, so one that breaks off begins again on the primary.
func TestAnExportThatAStandbyBreaksOffIsWhole(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.fill(t, 100_000)
	p.awaitStandby(t)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		await(t, "the export is under way", func() bool {
			files, _ := filepath.Glob("/proc/self/fd/*")
			for _, file := range files {
				if name, _ := os.Readlink(file); strings.Contains(name, "users-api-spool-") {
					return true
				}
			}
			return false
		})
		p.standby.Kill(t)
	}()
	ids := map[int64]int{}
	for user, err := range storetest.Exported(ctx, p.users, models.Query{}) {
		if ids[user.ID]++; err != nil || ids[user.ID] > 1 {
			t.Fatalf("user %d comes %d times, %v", user.ID, ids[user.ID], err)
		}
	}
	if <-stopped; len(ids) != 100_001 {
		t.Errorf("it has %d users", len(ids))
	}
	if passed := p.users.standbys.passed.Load(); passed == 0 {
		t.Error("the standby was not in the way")
	}
}

// Behind a pooler each transaction may run in another session.
func TestAStandbyBehindAPoolerAnswers(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.users, p.log = openLogged(t, p.database, p.standby.PgBouncer(t, "default_pool_size=2")(p.standbys))
	p.awaitStandby(t)
	for i := range 20 {
		name := fmt.Sprint("ada", i)
		postgresql.SQL(t, p.database, "UPDATE users SET name = '"+name+"'")
		for what, read := range heavy(t, p.users) {
			if text := read(); what != "a count" && !strings.Contains(text, name) {
				t.Errorf("%s after %s is %q", what, name, text)
			}
		}
	}
	if log := p.log.String(); strings.Contains(log, "does not answer") {
		t.Error(log)
	}
}

func TestEveryHostOfAURLIsRead(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	second := p.primary.Standby(t)
	p.primary.AwaitReplay(t, second)
	users, log := openLogged(t, p.database, edited(t, p.standbys, func(place *url.URL) {
		place.Host += ",127.0.0.1:" + fmt.Sprint(second.Port)
	}))
	p.users = users
	if len(users.standbys.servers) != 2 {
		t.Fatalf("there are %d standbys", len(users.standbys.servers))
	}
	const reading = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'users-api' AND query <> ''"
	for _, server := range []*postgresql.Server{p.standby, second} {
		await(t, "it is read", func() bool {
			p.awaitStandby(t)
			return postgresql.Ask(t, server.URL("postgres"), reading) != "0"
		})
	}
	second.Stop(t)
	await(t, "the log names it", func() bool {
		heavy(t, users)["a page"]()
		return strings.Contains(log.String(), fmt.Sprint("host=127.0.0.1:", second.Port))
	})
	for range 10 {
		p.awaitStandby(t)
	}
}

// At the beginning of a file of the log, the primary's position is beyond what a standby has to replay.
func TestAStandbyAnswersAtTheBeginningOfAFileOfTheLog(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for range 3 {
		postgresql.SQL(t, p.primary.URL("postgres"), "SELECT pg_switch_wal()")
		p.primary.AwaitReplay(t, p.standby)
		if !byStandby(p.users, heavy(t, p.users)["a page"]) {
			t.Error("the primary answers")
		}
	}
}

// The cursor of an export from a standby is one of the primary's feed, and nothing is missing after it.
func TestAnExportFromAStandbySaysWhereTheFeedGoesOn(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	if err := RecordChanges(ctx, p.database, quiet); err != nil {
		t.Fatal(err)
	}
	awaitCursor(t, p.users)
	p.primary.AwaitReplay(t, p.standby)
	open := begin(t, p.database)
	open.do("INSERT INTO users (name, email) VALUES ('late', 'late')")
	for i := range 8 {
		email := fmt.Sprint("user", i)
		storetest.Create(t, p.users, email)
		if i == 4 {
			open.do("COMMIT")
		}
		cursor, by := "", false
		by = byStandby(p.users, func() string {
			err := p.users.Export(ctx, models.Query{}, func(export models.Export) error {
				cursor = export.Cursor
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			return ""
		})
		if cursor == "" || !by {
			t.Fatalf("the cursor is %q; from a standby: %t", cursor, by)
		}
		storetest.Create(t, p.users, "after"+email)
		seen := ""
		await(t, "the feed goes on", func() bool {
			changes, err := p.users.Changes(ctx, cursor, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range changes.Entries {
				seen += fmt.Sprintln(change.User.Email)
			}
			return i < 4 || strings.Contains(seen, "after"+email)
		})
	}
}

// The index of searches that the primary has is the standby's too.
func TestAStandbySearchesWithTheIndex(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	if err := IndexSearch(ctx, p.database, storetest.Fields(), quiet); err != nil {
		t.Fatal(err)
	}
	await(t, "a standby searches with the index", func() bool {
		indexed := false
		err := p.users.on(ctx, search, func(_ context.Context, conn connection) error {
			indexed = conn.after != nil && conn.indexed
			return nil
		})
		return err == nil && indexed
	})
	text := ""
	await(t, "a standby answers", func() bool {
		return byStandby(p.users, func() string { text = heavy(t, p.users)["a search"](); return text })
	})
	if text != "ada\n" {
		t.Errorf("the search finds %q", text)
	}
}
