package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// A copy learns when the file has changed since it was read.
func TestAnOriginalThatIsWrittenMeanwhileIsNotFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	write := func(email string) {
		users, err := Open(ctx, path, storetest.Fields(), 0)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, users, email)
		if err := users.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	for _, written := range []bool{false, true} {
		original, err := OpenCopySource(path, storetest.Fields())
		if err != nil {
			t.Fatal(err)
		}
		if written {
			write("meanwhile")
		}
		err = original.Finish()
		if (err != nil) != written || written && !strings.Contains(err.Error(), "was written meanwhile") {
			t.Errorf("written %t: %v", written, err)
		}
	}
}

func TestAnOriginalIsReadWithWhatAKilledServiceLeft(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Killed(t, "in the -wal file")
	for _, path := range []string{path, sqlitetest.Link(t, path)} {
		original, err := OpenCopySource(path, storetest.Fields())
		if err != nil {
			t.Fatal(err)
		}
		defer original.Close()
		if original.Count != 1 {
			t.Errorf("%s has %d users", path, original.Count)
		}
	}
}

// What the file of an interrupted transaction holds was never committed.
func TestAnOriginalWithAHotJournalIsNotRead(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Interrupted(t)
	for _, path := range []string{path, sqlitetest.Link(t, path)} {
		if original, err := OpenCopySource(path, storetest.Fields()); err == nil || !strings.Contains(err.Error(), "takes that transaction back") {
			t.Errorf("%s: %+v, %v", path, original, err)
		}
	}
	other := sqlitetest.Open(t, path) // as the error says
	sqlitetest.Run(t, other, "SELECT count(*) FROM users")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	original, err := OpenCopySource(path, storetest.Fields())
	if err != nil {
		t.Fatal(err)
	}
	defer original.Close()
	if original.Count != 1 {
		t.Errorf("%d users are read", original.Count)
	}
}

func TestADatabaseWhoseTableCannotBeServedIsNotCopied(t *testing.T) {
	t.Parallel()
	for _, table := range sqlitetest.RefusedTables {
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			original, err := OpenCopySource(sqlitetest.File(t, table.Schema...), storetest.Fields())
			if err == nil {
				original.Close()
			}
			sqlitetest.ExpectCannotServe(t, "the copy", err, table.Why)
		})
	}
}

// What is not copied is named as the table has it, generated columns, too.
func TestAnOriginalNamesTheColumnsThatAreNotCopied(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, "CREATE TABLE users (ID INTEGER PRIMARY KEY, left_at, Name, email UNIQUE, PHONE, created_at, "+
		`"Fax No", domain AS (substr(email, instr(email, '@') + 1)), tenant)`)
	for _, test := range []struct {
		fields models.Fields
		want   string
	}{
		{models.NewFields(), `["left_at" "PHONE" "Fax No" "domain" "tenant"]`},
		{models.NewFields("tenant", "phone"), `["left_at" "Fax No" "domain"]`},
	} {
		original, err := OpenCopySource(path, test.fields)
		if err != nil {
			t.Fatal(err)
		}
		defer original.Close()
		if got := fmt.Sprintf("%q", original.Left); got != test.want {
			t.Errorf("%s are left, want %s", got, test.want)
		}
	}
	_, err := OpenCopySource(path, models.NewFields("phone", "fax"))
	want := "cannot read the database " + path + ": the table users has no column fax: run `users-api add-field fax`, or take what is " +
		"missing out of USER_FIELDS; for this file, run that without DATABASE_URL"
	if err == nil || err.Error() != want {
		t.Errorf("without a column: %v, want %s", err, want)
	}
	all, err := OpenCopySource(sqlitetest.Closed(t, "ada"), models.NewFields())
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if len(all.Left) > 0 {
		t.Errorf("%q are left", all.Left)
	}
}
