package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// Ignoring the case of emails is noticed by every connection of a running service at once, and so is its end.
func TestARunningServiceNoticesTheIndexAtItsNextReadAndWrite(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	ada := storetest.Create(t, users, "Ada")
	query := models.Query{Equal: storetest.Values("email", "aDA"), Count: true}
	found := func() (found []string) {
		for range maxReaders { // each in turn
			n, err := users.Count(ctx, query)
			found = append(found, fmt.Sprint(n, err))
		}
		for range maxReaders {
			for user, err := range models.Each(users.Select(ctx, query)) {
				found = append(found, fmt.Sprint(user.Email, err))
			}
		}
		for range maxReaders {
			err := users.Export(ctx, query, func(export models.Export) error {
				found = append(found, fmt.Sprint(export.Total))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		return found
	}
	for range 2 {
		if got := found(); slices.ContainsFunc(got, func(s string) bool { return s != "0<nil>" && s != "0 <nil>" && s != "0" }) {
			t.Errorf("without the index: %q", got)
		}
		if err := IgnoreEmailCase(ctx, users.writer.files.database.path); err != nil {
			t.Fatal(err)
		}
		if got := found(); slices.ContainsFunc(got, func(s string) bool { return s[0] == '0' }) || len(got) != 3*maxReaders {
			t.Errorf("with the index: %q", got)
		}
		sqlitetest.Run(t, other, "DROP INDEX users_email_nocase")
	}
	updates := models.ImportOptions{OnConflict: models.ConflictUpdates}
	rows := storetest.Rows(models.NewUser{Name: "imported", Email: "ADA"})
	if err := IgnoreEmailCase(ctx, users.writer.files.database.path); err != nil {
		t.Fatal(err)
	}
	if done, err := users.Import(ctx, rows, updates); done.Updated != 1 || err != nil {
		t.Errorf("an import: %+v, %v", done, err)
	}
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "ADA"})
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || !failed.Duplicate {
		t.Errorf("a creation: %v", err)
	}
	sqlitetest.Run(t, other, "DROP INDEX users_email_nocase")
	if second := storetest.Create(t, users, "ADA"); second == ada {
		t.Errorf("without the index again, the id is %d", second)
	}
}

func TestAnIndexIgnoresTheCaseOfEmailsWhereItHasTheNameAndIsUniqueAndOnThemAlone(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at, left_at"
	for index, want := range map[string]bool{
		"CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE)":                       true,
		"CREATE UNIQUE INDEX users_email_nocase ON users (EMAIL COLLATE nocase DESC)":                  true,
		"CREATE UNIQUE INDEX Users_Email_NoCase ON users (email COLLATE NOCASE)":                       true,
		"CREATE UNIQUE INDEX of_another_program ON users (email COLLATE NOCASE)":                       false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (email)":                                      false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE RTRIM)":                        false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (name COLLATE NOCASE)":                        false,
		"CREATE INDEX users_email_nocase ON users (email COLLATE NOCASE)":                              false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE) WHERE left_at IS NULL": false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE, name)":                 false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (name, email COLLATE NOCASE)":                 false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE, lower(name))":          false,
		"CREATE UNIQUE INDEX users_email_nocase ON users (lower(email))":                               false,
	} {
		users, _ := openTable(t, 0, table+")", index)
		if got := users.writer.conn.table.emails.IgnoresCase; got != want {
			t.Errorf("%s: %t", index, got)
		}
	}
}

func TestAnIndexThatIgnoresTheCaseOfEmailsIsCreatedOnce(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, sqlitetest.Table+"; CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE)")
	other := sqlitetest.Open(t, path)
	before := schema(t, other)
	if err := IgnoreEmailCase(ctx, path); err != nil {
		t.Error(err)
	}
	if after := schema(t, other); after != before {
		t.Errorf("the schema was %s and is %s", before, after)
	}
}

// Users without an email have not the same one. SQLite's NOCASE compares two emails of the same length up to a NUL.
func TestEmailsThatDifferOnlyInCaseAreNamedByTheirUsers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		emails []string
		want   []int64
		more   bool
	}{
		"none":                   {[]string{"'a'", "'b'", "NULL", "NULL", "'ß'", "'SS'", "'ı'", "'i'"}, nil, false},
		"two, and others beside": {[]string{"'B'", "'a'", "'c'", "'b'", "'A'", "NULL"}, []int64{2, 5, 1, 4}, false},
		"three":                  {[]string{"'ada@x'", "'ADA@X'", "'aDa@X'"}, []int64{1, 2, 3}, false},
		"behind a NUL":           {[]string{"'a' || char(0) || 'b'", "'a' || char(0) || 'c'", "'a' || char(0)"}, []int64{1, 2}, false},
		"as many as are named":   {twice(models.MostListed / 2), upTo(models.MostListed), false},
		"more":                   {twice(models.MostListed), upTo(models.MostListed), true},
	} {
		path := sqlitetest.File(t, sqlitetest.Table)
		other := sqlitetest.Open(t, path)
		sqlitetest.Run(t, other, "INSERT INTO users (email) VALUES ("+strings.Join(test.emails, "), (")+")")
		before := schema(t, other)
		err := IgnoreEmailCase(ctx, path)
		same, ok := errors.AsType[*models.SameEmails](err)
		if ok && (!slices.Equal(same.IDs, test.want) || same.More != test.more) || !ok && (test.want != nil || err != nil) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if after := schema(t, other); ok && after != before {
			t.Errorf("%s: the schema was %s and is %s", name, before, after)
		}
	}
}

// twice returns n emails twice, in another case and with neighbouring ids.
func twice(n int) (emails []string) {
	for i := range n {
		emails = append(emails, fmt.Sprintf("'a%05d'", i), fmt.Sprintf("'A%05d'", i))
	}
	return emails
}

func upTo(n int64) (ids []int64) {
	for id := range n {
		ids = append(ids, id+1)
	}
	return ids
}

// The search takes longer than the index, and the writes of a service would wait for it.
func TestOtherProgramsMayWriteWhileTheSameEmailsAreLookedFor(t *testing.T) {
	t.Parallel()
	conn := openTestConnection(t, openUsers(t, 0))
	if err := conn.Script(beginWrite); err != nil {
		t.Fatal(err)
	}
	if err := conn.sameEmails(); err == nil || err.Error() != "some emails were changed meanwhile: try again" {
		t.Errorf("when another program has changed them: %v", err)
	}
	if conn.InTransaction() {
		t.Error("the transaction is still open")
	}
}
