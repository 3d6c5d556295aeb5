package postgres

import (
	"strings"
	"testing"
	"time"
)

func TestAURLIsReadAndShownWithoutItsPassword(t *testing.T) {
	for url, shown := range map[string]string{
		"postgres://ada:secret@db/people":                    `db:5432 (database "people", user "ada")`,
		"postgresql://ada:s%40cret%2F@db:5433/people":        `db:5433 (database "people", user "ada")`,
		"postgres://ada:secret@[::1]:5433/people":            `[::1]:5433 (database "people", user "ada")`,
		"postgres://ada:secret@a:1,b:2/people":               `a:1, b:2 (database "people", user "ada")`,
		"postgres://db/people?user=ada&password=secret":      `db:5432 (database "people", user "ada")`,
		"postgres://ada:secret@db/people?sslmode=disable":    `db:5432 (database "people", user "ada")`,
		"postgres://ada:secret@db/people?pool_max_conns=4":   `db:5432 (database "people", user "ada")`,
		"postgres://ada@db/people?password=secret&host=c,db": `c:5432, db:5432 (database "people", user "ada")`,
		"postgres://ada:secret@%2Frun%2Fpg/people":           `/run/pg/.s.PGSQL.5432 (database "people", user "ada")`,
	} {
		where, err := parseAddress(url)
		if err != nil || where.String() != shown {
			t.Errorf("%s is %s, %v, want %s", url, where, err, shown)
		}
	}
}

func TestTheLocationOfADatabaseHasNeitherUserNorPassword(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://ada:secret@a:1,b:2/people": "postgres://a:1,b:2/people",
		"postgres://ada:secret@[::1]/people":   "postgres://[::1]:5432/people",
		"postgres://ada:se/cret@a/people":      "PostgreSQL",
	} {
		if got := Location(url); got != want {
			t.Errorf("%s is at %s, want %s", url, got, want)
		}
	}
}

func TestAURLThatCannotBeReadIsNotRepeated(t *testing.T) {
	for _, url := range []string{
		"", "secret", "mysql://u:secret@h/d", "host=h password=secret", "postgres://u:se/cret@h/d", "postgres://u:12/secret@h/d",
		"postgres://u:12#secret@h/d", "postgres://u:12?secret@h/d", "postgres://u:secret@x@h/d", "postgres://u:secret%zz@h/d",
		"postgres://u:secret@h:port/d", "postgres://u:secret@h/d?sslmode=maybe", "postgres://u:secret@h/d?pool_max_conns=many",
		"postgres://u:secret@h/d?connect_timeout=soon", "postgres://u:secret@h/d?target_session_attrs=best",
		"postgres://u:secret@h/d?sslrootcert=/missing", "postgres://u:secret@h/d?%zz", "postgres://u:secret@h:99999/d",
		"postgres://u:secret@h/d?pool_max_conns=0",
	} {
		_, err := parseAddress(url)
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// With fewer connections an import would hold up every read.
func TestAPoolThatIsTooSmallIsRefused(t *testing.T) {
	_, err := parseAddress("postgres://u:secret@h/d?pool_max_conns=3")
	const want = "the URL of the database cannot be used: pool_max_conns is 3, and a process needs at least 4 connections: " +
		"raise it, or leave it out"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatTheURLSaysOfTheConnectionsStands(t *testing.T) {
	usual, err := parseAddress("postgres://u:p@a,b/d")
	if err != nil {
		t.Fatal(err)
	}
	other, err := parseAddress("postgres://u:p@a,b/d?pool_max_conns=4&connect_timeout=7&target_session_attrs=any&application_name=x")
	if err != nil {
		t.Fatal(err)
	}
	if usual.pool.MaxConns != poolSize || usual.pool.ConnConfig.ConnectTimeout != connectTime ||
		usual.pool.ConnConfig.ValidateConnect == nil {
		t.Errorf("without parameters: %d, %s", usual.pool.MaxConns, usual.pool.ConnConfig.ConnectTimeout)
	}
	if other.pool.MaxConns != 4 || other.pool.ConnConfig.ConnectTimeout != 7*time.Second ||
		other.pool.ConnConfig.ValidateConnect != nil || other.pool.ConnConfig.RuntimeParams["application_name"] != "x" {
		t.Errorf("with parameters: %d, %s", other.pool.MaxConns, other.pool.ConnConfig.ConnectTimeout)
	}
}
