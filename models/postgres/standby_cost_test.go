//go:build postgres

package postgres

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// many is how many users the reads look at whose cost is measured. docs/scale.md has the figures for 1,000,000.
var many = flag.Int("users", 50_000, "users of the tests that measure standbys")

// Reads of many users cost the primary little more than the question where its log ends.
func TestAStandbyTakesTheWorkOffThePrimary(t *testing.T) {
	p := newPair(t, "max_parallel_workers_per_gather=0", "autovacuum=off") // so that sessions do all of the work
	p.fill(t, *many)
	alone, _ := openLogged(t, p.database, "")
	for what, read := range map[string]func(*Users){
		"a search for a rare text": func(users *Users) { names(t, models.Each(users.Select(ctx, models.Query{Contains: "ada"}))) },
		"a count":                  func(users *Users) { _, _ = users.Count(ctx, models.Query{}) },
		"an export": func(users *Users) {
			for _, err := range storetest.Exported(ctx, users, models.Query{}) {
				if err != nil {
					t.Error(err)
				}
			}
		},
		"a page of 100": func(users *Users) { names(t, models.Each(users.Select(ctx, models.Query{Limit: 100}))) },
		"16 pages of 100 at once": func(users *Users) {
			var wait sync.WaitGroup
			for range 16 {
				wait.Go(func() { names(t, models.Each(users.Select(ctx, models.Query{Limit: 100}))) })
			}
			wait.Wait()
		},
	} {
		rounds := 5
		if strings.Contains(what, "page") {
			rounds = 100
		}
		measure := func(users *Users) (cpu, wall time.Duration) {
			read(users) // connections are made, and statements prepared
			before, begun := p.primary.CPU(t, "users-api"), time.Now()
			for range rounds {
				read(users)
			}
			return (p.primary.CPU(t, "users-api") - before) / time.Duration(rounds), time.Since(begun) / time.Duration(rounds)
		}
		without, wall := measure(alone)
		passed := p.users.standbys.passed.Load()
		with, wallWith := measure(p.users)
		t.Logf("%s of %d: %s of the primary's CPU, and %s with a standby: %.1f times less; took %s and %s",
			what, *many, without, with, float64(without)/float64(max(1, with)), wall, wallWith)
		if p.users.standbys.passed.Load() > passed {
			t.Logf("%s: the primary answered some", what) // on a busy machine
		} else if !strings.Contains(what, "page") && without < 5*with {
			t.Errorf("%s takes too much", what)
		}
	}
	// A list is read whole after each write, where changes are not recorded.
	for _, users := range []*Users{alone, p.users} {
		before, took := p.primary.CPU(t, "users-api"), time.Duration(0)
		for i := range 10 {
			postgresql.SQL(t, p.database, fmt.Sprintf("UPDATE users SET name = 'n%d' WHERE email = 'ada'", i))
			begun := time.Now()
			storetest.Text(t, users)
			took += time.Since(begun)
		}
		t.Logf("a list after a write: %s of the primary's CPU; took %s", (p.primary.CPU(t, "users-api")-before)/10, took/10)
	}
}
