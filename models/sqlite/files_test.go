package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

func TestADatabaseMayLieAnywhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "what?", "#1", "100%41", "ünïcode", "a&b=c", "_pragma=x"} {
		path := filepath.Join(t.TempDir(), name, "users.db")
		users, err := Open(ctx, path, storetest.Fields(), 0)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, users, "ada@example.org")
		if err := users.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("the users are not in %s: %v", path, err)
		}
	}
}

func TestWhatIsMadeIsForThisUserAlone(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	storetest.Create(t, users, "ada@example.org")
	path := users.writer.files.database.path
	for path, want := range map[string]os.FileMode{
		filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %s, want %s", path, info.Mode().Perm(), want)
		}
	}
}

func TestWhatIsThereKeepsItsMode(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path := filepath.Join(directory, "users.db")
	if err := errors.Join(os.WriteFile(path, nil, 0o640), os.Chmod(directory, 0o750)); err != nil {
		t.Fatal(err)
	}
	users, err := Open(ctx, path, storetest.Fields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // the directory is removed
	for path, want := range map[string]os.FileMode{directory: 0o750, path: 0o640, path + "-wal": 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %s, want %s", path, info.Mode().Perm(), want)
		}
	}
}

func TestTheDatabaseMayBeASymbolicLink(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	target, link, relative := filepath.Join(directory, "target.db"), filepath.Join(directory, "users.db"), filepath.Join(directory, "second.db")
	if err := errors.Join(os.Symlink(target, link), os.Symlink("users.db", relative)); err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{link, relative} { // the first leads to nothing yet
		users, err := Open(ctx, path, storetest.Fields(), 0)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, users, fmt.Sprint(i))
		if _, err := os.Stat(target + "-wal"); err != nil {
			t.Errorf("the -wal file is not beside the target: %v", err)
		}
		if err := users.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	users, err := Open(ctx, link, storetest.Fields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // it is lost
	if err := errors.Join(os.Remove(link), os.Symlink("elsewhere.db", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "e"}); !errors.Is(err, models.ErrReplaced) {
		t.Errorf("a write after the link leads elsewhere: %v", err)
	}
}

func TestALinkThatLeadsBackToItselfIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.db")
	if err := os.Symlink(path, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, storetest.Fields(), 0); err == nil || !strings.Contains(err.Error(), "leads back to itself") {
		t.Errorf("the error is %v", err)
	}
}
