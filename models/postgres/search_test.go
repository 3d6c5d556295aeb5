//go:build postgres

package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

func indexSearch(t testing.TB, url string, fields models.Fields) {
	t.Helper()
	if err := IndexSearch(ctx, url, fields, quiet); err != nil {
		t.Fatal(err)
	}
}

func TestTheContractIsKeptWithAnIndexForSearches(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	storetest.Run(t, func(t testing.TB, fields models.Fields) models.Users {
		url := server.NewDatabase(t)
		users := openWith(t, url, fields)
		for _, field := range fields {
			postgresql.SQL(t, url, createTrigrams, strings.Replace(searchIndex(field, "public").create, "CONCURRENTLY", "", 1))
		}
		// A search of a few users would never use it. This holds for later connections.
		postgresql.SQL(t, url, "ALTER DATABASE "+databaseOf(t, url)+" SET enable_seqscan = off")
		users.database.pool.Reset()
		users.database.checked.Store(&tableCheck{table: users.table}) // so that the next request checks the table again
		return users
	}, traits)
}

func databaseOf(t testing.TB, url string) string {
	t.Helper()
	return postgresql.Ask(t, url, "SELECT quote_ident(current_database())")
}

// manyUsers fills a table so that the planner weighs an index against all users.
const manyUsers = `INSERT INTO users (name, email)
	SELECT 'User ' || i, md5(i::text) || '@example.com' FROM generate_series(1, 20000) AS i`

// planOf returns the plan of a search as the service has it, which the server writes to its log.
func planOf(t *testing.T, users *Users, text string) (plan string) {
	t.Helper()
	query := models.Query{Contains: text, Limit: 1}
	values, _ := users.reader.queries.matching(query)
	err := users.reader.on(ctx, search, func(ctx context.Context, conn connection) error {
		conn, err := conn.seeking(ctx, text)
		if err != nil {
			return err
		}
		rows, err := conn.Query(ctx, "EXPLAIN "+users.reader.queries.Select(query, false, conn.access(text)).Users,
			append([]any{conn.mode()}, append(values, int64(1))...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			plan += line + "\n"
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestTheServerUsesTheIndexForRareTexts(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	fields := models.NewFields("phone")
	users := openWith(t, url, fields)
	postgresql.SQL(t, url, strings.Replace(manyUsers, "20000", "200000", 1)) // of fewer, the planner looks at each for one
	if plan := planOf(t, users, "deadbeef"); strings.Contains(plan, "users_search") {
		t.Errorf("before the index, it is %s", plan)
	}
	indexSearch(t, url, fields)
	for text, uses := range map[string]bool{
		"deadbeef": true, "cafebabe": true, "straße": true, "user": false, "de": false, "@": false, "._.": false,
		"DEADBEEFΣ": false,
	} {
		for range 8 { // from the sixth on, one that is kept prepared might have one plan for all texts
			if plan := planOf(t, users, text); strings.Contains(plan, "users_search_phone") != uses {
				t.Errorf("%q: %s", text, plan)
				break
			}
		}
	}
	if err := DropSearchIndex(ctx, url, quiet); err != nil {
		t.Fatal(err)
	}
	if plan := planOf(t, users, "deadbeef"); strings.Contains(plan, "users_search") {
		t.Errorf("after the end of the index, it is %s", plan)
	}
}

// In a database whose letters are ICU's, the lower case of Σ depends on what follows it.
func TestCapitalsBeyondASCIIAreFoundInEveryDatabase(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	name := databaseOf(t, server.NewDatabase(t))
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, "CREATE DATABASE icu_"+name+
		" TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'und' LOCALE 'C'")
	url = strings.Replace(url, databaseOf(t, url), "icu_"+name, 1)
	users := openUsers(t, url)
	indexSearch(t, url, storetest.Fields())
	postgresql.SQL(t, url, "ALTER DATABASE icu_"+name+" SET enable_seqscan = off")
	users.database.pool.Reset()
	texts := []string{"ΟΔΟΣΑ", "οδος", "Ståhl", "İstanbul", "ISTANBUL", "\u212aelvin", "Kelvin", "Æble", "straße"}
	for _, text := range texts {
		storetest.Create(t, users, text)
	}
	for _, text := range texts {
		characters := []rune(text)
		for n := 3; n <= len(characters); n++ {
			for from := 0; from+n <= len(characters); from++ {
				part := string(characters[from : from+n])
				var got, want []string
				for user, err := range models.Each(users.Select(ctx, models.Query{Contains: part})) {
					got = append(got, user.Email)
					if err != nil {
						t.Fatal(err)
					}
				}
				for _, text := range texts {
					if strings.Contains(models.LowerASCII(text), models.LowerASCII(part)) {
						want = append(want, text)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s finds %q, want %q", part, got, want)
				}
			}
		}
	}
}

// A statement that is kept prepared would get one plan for rare and frequent texts.
func TestASearchThatAnIndexMayServeIsPlannedForItsText(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	indexSearch(t, url, storetest.Fields())
	err := users.reader.on(ctx, search, func(ctx context.Context, conn connection) error {
		kept := func() (n int) {
			asking := conn
			asking.replans = false
			err := asking.value(ctx, &n, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%) LIKE $%'")
			if err != nil {
				t.Error(err)
			}
			return n
		}
		within, before := users.reader.within(conn, nil), kept()
		for range 2 {
			if _, err := within.Count(ctx, models.Query{Contains: "deadbeef"}); err != nil {
				return err
			}
		}
		if n := kept(); n != before {
			t.Errorf("%d searches are kept prepared, and %d were", n, before)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
