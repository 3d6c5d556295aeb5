package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// A copy learns when the file has changed since it was read.
func TestAnOriginalThatIsWrittenMeanwhileIsNotFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	write := func(email string) {
		users, err := Open(ctx, path, models.NewFields(), 0)
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
		original, err := OpenCopySource(path, models.NewFields())
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
	path := unfinished(t, "in the -wal file")
	for _, path := range []string{path, linkTo(t, path)} {
		original, err := OpenCopySource(path, models.NewFields())
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
	path := interrupted(t)
	for _, path := range []string{path, linkTo(t, path)} {
		if original, err := OpenCopySource(path, models.NewFields()); err == nil || !strings.Contains(err.Error(), "takes that transaction back") {
			t.Errorf("%s: %+v, %v", path, original, err)
		}
	}
	other := openOther(t, path) // as the error says
	run(t, other, "SELECT count(*) FROM users")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	original, err := OpenCopySource(path, models.NewFields())
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
	for _, table := range refusedTables {
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "users.db")
			if err := os.WriteFile(path, candidate(t, table.schema...), 0o600); err != nil {
				t.Fatal(err)
			}
			original, err := OpenCopySource(path, models.NewFields())
			if err == nil {
				original.Close()
			}
			expectCannotServe(t, "the copy", err, table.why)
		})
	}
}
