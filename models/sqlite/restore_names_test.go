package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
)

// A start that waits while a restore replaces the file must not go on with the file that it waited for.
func TestAStartThatMeetsARestoreServesTheRestoredDatabase(t *testing.T) {
	t.Parallel()
	for range 10 {
		path, from := closedDatabase(t, "old"), closedDatabase(t, "new")
		release, err := lockExclusive(path)
		if err != nil {
			t.Fatal(err)
		}
		opened := make(chan *Users, 1)
		go func() {
			users, err := Open(ctx, path, models.NewFields(), 0)
			if err != nil {
				t.Error(err)
			}
			opened <- users
		}()
		time.Sleep(3 * busyTick / 2) // it is no event that somebody waits for a lock
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
	path := closedDatabase(t, "old")
	if err := os.Link(path, path+".replaced-20240101T000000.000Z"); err != nil {
		t.Fatal(err)
	}
	older := path + ".replaced-20230101T000000.000Z"
	copyFile(t, path, older)
	restored, err := restore(t, path, closedDatabase(t, "new"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"users.db", filepath.Base(older), filepath.Base(restored.Kept)}
	if all := names(t, filepath.Dir(path)); !slices.Equal(all, want) {
		t.Errorf("there are %v, and not %v", all, want)
	}
}
