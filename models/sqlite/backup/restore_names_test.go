package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models/sqlite"
	"users-api/models/sqlite/dbfile"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// A start that waits while a restore replaces the file must not go on with the file that it waited for.
func TestAStartThatMeetsARestoreServesTheRestoredDatabase(t *testing.T) {
	t.Parallel()
	for range 10 {
		path, from := sqlitetest.Closed(t, "old"), sqlitetest.Closed(t, "new")
		release, err := dbfile.LockExclusive(path)
		if err != nil {
			t.Fatal(err)
		}
		opened := make(chan *sqlite.Users, 1)
		go func() {
			users, err := sqlite.Open(ctx, path, storetest.Fields(), 0)
			if err != nil {
				t.Error(err)
			}
			opened <- users
		}()
		time.Sleep(75 * time.Millisecond) // it is no event that somebody waits for a lock
		if err := errors.Join(os.Link(path, path+".replaced-x"), os.Rename(from, path)); err != nil {
			t.Fatal(err)
		}
		release()
		users := <-opened
		if users == nil {
			return
		}
		if text, _ := storetest.Text(t, users); !strings.Contains(text, `"new"`) {
			t.Errorf("it lists %s", text)
		}
		storetest.Create(t, users, "more")
		if err := users.Close(ctx); err != nil {
			t.Fatal(err)
		}
		expectUsers(t, path, "new", "more")
		expectUsers(t, path+".replaced-x", "old")
	}
}

func TestASecondNameThatAKilledRestoreLeftIsRemoved(t *testing.T) {
	path := sqlitetest.Closed(t, "old")
	if err := os.Link(path, path+".replaced-20240101T000000.000Z"); err != nil {
		t.Fatal(err)
	}
	older := path + ".replaced-20230101T000000.000Z"
	sqlitetest.CopyFile(t, path, older)
	restored, err := restore(t, path, sqlitetest.Closed(t, "new"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"users.db", filepath.Base(older), filepath.Base(restored.Kept)}
	if all := names(t, filepath.Dir(path)); !slices.Equal(all, want) {
		t.Errorf("there are %v, and not %v", all, want)
	}
}
