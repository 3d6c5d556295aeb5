//go:build postgres

package servers

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// answers returns how many reads standbys and the primary have answered.
func answers(t *testing.T, p *program.Program) (standby, primary float64) {
	t.Helper()
	by := program.Scrape(t, p)["users_api_standby_reads_total"]
	return by["server=standby"], by["server=primary"]
}

// at returns the URL of the same database at another host.
func at(t *testing.T, database, host string) string {
	t.Helper()
	name, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name.Host = host
	return name.String()
}

// Two processes serve one database with a standby. What one has answered, the other shows at once in every read, whoever
// answers it: the standby, or the primary while that is late or away.
func TestReadsOfStandbysShowWhatAnyProcessHasAnswered(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	standby := primary.Standby(t)
	database := primary.NewDatabase(t)
	primary.AwaitReplay(t, standby)
	settings := []string{"ADMIN_PORT=0", "DATABASE_URL=" + database,
		"DATABASE_READ_URL=" + at(t, database, fmt.Sprintf("127.0.0.1:%d", standby.Port))}
	writes, reads := program.Serve(t, settings...), program.Serve(t, settings...)
	paths := []string{"/api/users?q=newest", "/api/users?limit=1&order=desc", "/api/users.csv", "/api/users"}
	round := func(n string) {
		for i, path := range paths {
			email := fmt.Sprintf("newest%s-%d@example.org", n, i)
			writes.Create(t, "newest", email)
			answer := reads.Do(t, "GET", path, "")
			if answer.Status != 200 || !strings.Contains(answer.Body, email) {
				t.Errorf("%s: after %s was created: %d %.200s", path, email, answer.Status, answer.Body)
			}
		}
	}
	program.WaitFor(t, "the standby answers", func() bool {
		reads.Do(t, "GET", "/api/users?q=newest", "")
		standby, _ := answers(t, reads)
		return standby > 0
	})
	for n := range 10 {
		round(fmt.Sprint("ready", n))
	}
	before, _ := answers(t, reads)
	if before < 10 {
		t.Errorf("the standby has answered %v reads", before)
	}
	postgresql.SQL(t, standby.URL("postgres"), "SELECT pg_wal_replay_pause()")
	round("late")
	postgresql.SQL(t, standby.URL("postgres"), "SELECT pg_wal_replay_resume()")
	standby.Kill(t)
	round("away")
	if answer := program.AskAdmin(t, reads, "/readyz"); answer.Status != 200 {
		t.Errorf("without its standby it is not ready: %d %s", answer.Status, answer.Body)
	}
	if _, passed := answers(t, reads); passed == 0 {
		t.Error("the primary has answered nothing")
	}
	program.Forbid(t, reads.Log(), postgresql.Password, url.QueryEscape(postgresql.Password), "newest")
}
