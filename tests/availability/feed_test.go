//go:build postgres

package availability

import (
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// A client is not told that changes are not recorded, and gets no cursor that it could not go on from.
func TestAStandbyServesListsAndSaysThatThePrimaryHasTheFeed(t *testing.T) {
	t.Parallel()
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+database)
	program.RunWith(t, []string{"DATABASE_URL=" + database}, nil, "changes", "on").MustSucceed(t)
	p.Create(t, "Ada", "ada@example.org")
	standby := primary.Standby(t)
	replica := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, standby)+"?target_session_attrs=any")
	replica.Do(t, "GET", "/api/changes", "").Expect(t, 500, "…a standby does not serve the feed of changes: ask a service…")
	for _, path := range []string{"/api/users", program.CSV} {
		answer := replica.Do(t, "GET", path, "")
		if cursor, sent := answer.Header["Changes-Cursor"]; sent || !strings.Contains(answer.Body, "ada@example.org") {
			t.Errorf("%s of a standby is %s with the cursor %v", path, answer.Body, cursor)
		}
	}
	standby.Promote(t)
	program.WaitFor(t, "it serves the feed", func() bool { return replica.Do(t, "GET", "/api/changes", "").Status == 200 })
	program.Forbid(t, replica.Log(), "old changes were not deleted") // a write to the standby
}
