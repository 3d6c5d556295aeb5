//go:build postgres

package postgres

import (
	"net/url"
	"strings"
	"testing"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// awaitLog returns when the log says why the standby does not answer. On a busy machine the standby may first be too slow.
func (p pair) awaitLog(t *testing.T, says string) {
	t.Helper()
	await(t, "the log says "+says, func() bool {
		heavy(t, p.users)["a page"]()
		return strings.Contains(p.log.String(), says)
	})
}

// A log position of another server, or on another timeline, says nothing.
func TestAServerThatIsNoStandbyOfThePrimaryNeverAnswers(t *testing.T) {
	t.Parallel()
	p, other := newPair(t), pairOf(t, postgresql.StartAnother(t))
	postgresql.SQL(t, p.primary.URL("postgres"), "CREATE DATABASE another")
	p.primary.AwaitReplay(t, p.standby)
	for what, test := range map[string]struct{ url, says string }{
		"the primary":          {p.database, "it is not a standby"},
		"another cluster":      {other.standbys, "not a standby of the server"},
		"another database":     {p.standby.URL("another"), "not a standby of the server"},
		"another table":        {p.standbys + "?search_path=pg_catalog", "search path"},
		"no such database":     {p.standby.URL("gone"), "SQLSTATE 3D000"},
		"nothing that answers": {edited(t, p.database, func(place *url.URL) { place.Host = "127.0.0.1:1" }), "connection refused"},
	} {
		t.Run(what, func(t *testing.T) {
			q := p
			q.users, q.log = openLogged(t, p.database, test.url)
			q.expectPrimary(t)
			q.awaitLog(t, test.says)
		})
	}
}

// A standby that was promoted has its own history from then on. Neither it nor a primary that comes back as a standby, with
// commits that the new one never had, answers for the other.
func TestAServerWithAnotherHistoryNeverAnswers(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.standby.Promote(t)
	p.expectPrimary(t)
	postgresql.SQL(t, p.database, "INSERT INTO users (name, email) SELECT 'ada', i FROM generate_series(1, 5000) i")
	p.primary.Stop(t)
	p.primary.Follow(t, p.standby)
	after := pair{primary: p.standby, standby: p.primary, database: p.standbys, standbys: p.database}
	after.users, after.log = openLogged(t, after.database, after.standbys)
	after.expectPrimary(t)
	after.awaitLog(t, "timeline")
}

// After a promotion, another standby follows the new primary and answers for it.
func TestAStandbyThatFollowsTheNewPrimaryAnswers(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	second := p.primary.Standby(t)
	p.primary.Stop(t)
	p.standby.Promote(t)
	second.Stop(t)
	second.Follow(t, p.standby)
	after := pair{primary: p.standby, standby: second, database: p.standbys, standbys: beside(t, p.database, second)}
	after.users, after.log = openLogged(t, after.database, after.standbys)
	storetest.Create(t, after.users, "grace")
	after.awaitStandby(t)
}
