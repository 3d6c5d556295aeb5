package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/models/storetest"
)

// Whoever moves users away learns when the file has changed since they were read.
func TestAnOriginalThatIsWrittenMeanwhileIsNotFinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	write := func(email string) {
		users, err := Open(ctx, path, 0)
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
		original, err := OpenOriginal(path)
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
