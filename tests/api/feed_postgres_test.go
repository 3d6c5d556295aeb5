//go:build postgres

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// ofEngine are statements that only PostgreSQL has.
var ofEngine = []string{
	"WITH moved AS (DELETE FROM users WHERE id % 29 = 1 RETURNING name, email) " +
		"INSERT INTO users (name, email) SELECT name, email || 'm' FROM moved",
}

// Without its entries, a user that another program erases would stay in every list, and followers would keep the user.
func TestAnEntryOfTheFeedIsNotErasedWithItsUser(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for i := range 4 {
		p.Create(t, "n", fmt.Sprint(i))
	}
	p.List(t)
	url := program.DatabaseURL(t, p.DataDir)
	for _, erase := range []string{
		"DELETE FROM users WHERE id = 3; DELETE FROM users_changes WHERE id = 3",
		"DELETE FROM users_changes WHERE id = 3",
		"UPDATE users SET name = 'n' WHERE id = 3; UPDATE users_changes SET id = 1 WHERE id = 3",
		"SET session_replication_role = replica; DELETE FROM users_changes",
		"TRUNCATE users_changes",
		"TRUNCATE users, users_changes",
	} {
		conn, err := pgx.Connect(t.Context(), url)
		program.Must(t, err)
		_, err = conn.Exec(t.Context(), erase, pgx.QueryExecModeSimpleProtocol)
		const why = `…they hold no personal data…"users-api changes off" removes them all…`
		if got := fmt.Sprint(err); !program.Matches(got, why) {
			t.Errorf("%s is answered %s, want %s", erase, got, why)
		}
		_ = conn.Close(t.Context())
	}
	p.ExpectUsers(t, "n", "n", "n", "n")
	postgresql.SQL(t, url, "DELETE FROM users WHERE id = 3")
	list, page, one := p.List(t), p.Do(t, "GET", "/api/users?limit=10", "").Users(t), p.Do(t, "GET", "/api/users/3", "")
	if len(list) != 3 || len(page) != 3 || one.Status != 404 {
		t.Errorf("an erased user is listed in %v or %v, and answered %d", list, page, one.Status)
	}
	program.WaitFor(t, "the feed has the deletion", func() bool {
		return strings.Contains(p.Do(t, "GET", "/api/changes", "").Body, `"op":"deleted","id":3,`)
	})
}

// Row security could hide entries, and then what they tell of would be missing.
func TestRowSecurityOnTheFeedIsRefused(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Create(t, "Ada", "ada")
	p.List(t)
	postgresql.SQL(t, program.DatabaseURL(t, p.DataDir), "ALTER TABLE users_changes ENABLE ROW LEVEL SECURITY",
		"INSERT INTO users (name, email) VALUES ('Alan', 'alan')")
	const why = "row security is on for users_changes, and may hide entries: disable it"
	p.Do(t, "GET", "/api/users", "").Expect(t, 500, "…"+why+"…")
	if done := p.Run(t, "changes", "on"); done.Code != 1 || !strings.Contains(done.Stderr, why) {
		t.Errorf("changes on ends with %d and says %s", done.Code, done.Stderr)
	}
	p.Stop(t)
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+p.DataDir), why)
	p.Run(t, "changes", "off").MustSucceed(t)
	program.Serve(t, "DATA_DIR="+p.DataDir)
}
