package commands

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"users-api/config"
	"users-api/models"
	"users-api/models/sqlite"
)

// Services that share a database share its backups: one that is due is made once.
func TestABackupThatAnotherServiceHasMadeIsNotMadeAgain(t *testing.T) {
	settings := config.Config{DataDir: t.TempDir()}
	settings.Backups = config.Backups{Every: 2 * time.Second, Keep: 7, Dir: t.TempDir()}
	users, err := sqlite.Open(context.Background(), settings.DatabasePath(), models.NewFields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(context.Background()) //nolint:errcheck // the directory is removed
	b := newBackups(settings, database{path: settings.DatabasePath()}, slog.New(slog.DiscardHandler))
	id, err := b.readOrMakeID()
	if err != nil {
		t.Fatal(err)
	}
	write := func(began time.Time) {
		name := "users-" + id + "-" + began.UTC().Format(backupTime) + ".db"
		if err := os.WriteFile(filepath.Join(settings.Backups.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := time.Now().Truncate(time.Second)
	write(other.Add(-time.Second))
	b.look()
	defer b.start(context.Background())()
	write(other) // before ours is due
	for deadline := time.Now().Add(30 * time.Second); !b.lastBackup().After(other); {
		if time.Now().After(deadline) {
			t.Fatal("none is made")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if after := b.lastBackup().Sub(other); after < settings.Backups.Every {
		t.Errorf("the next was made after %s", after)
	}
}

// The clock is a pretended one: each hour passes at once.
func TestABackupThatFailsIsTriedAgainAfterAnHourOrSooner(t *testing.T) {
	for every, tries := range map[time.Duration]int{24 * time.Hour: 3, time.Minute: 2*60 + 1} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			settings := config.Config{DataDir: t.TempDir(), Backups: config.Backups{Every: every, Keep: 7, Dir: "/dev/null/none"}}
			b := newBackups(settings, database{path: settings.DatabasePath()}, slog.New(slog.NewTextHandler(&log, nil)))
			stop := b.start(context.Background())
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			stop()
			if failed := bytes.Count(log.Bytes(), []byte("no backup was made")); failed != tries {
				t.Errorf("with BACKUP_EVERY=%s it was tried %d times in two hours, and not %d:\n%.1000s", every, failed, tries, &log)
			}
		})
	}
}

func TestTheBackupJustMadeIsKeptWhenANewerOneExists(t *testing.T) {
	b := &backups{Backups: config.Backups{Keep: 1, Dir: t.TempDir()}, dataDir: t.TempDir()}
	id, err := b.readOrMakeID()
	if err != nil {
		t.Fatal(err)
	}
	made, newer := "users-"+id+"-20200102T000000Z.db", "users-"+id+"-20200103T000000Z.db"
	for _, name := range []string{"users-" + id + "-20200101T000000Z.db", made, newer} {
		if err := os.WriteFile(filepath.Join(b.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.prune(made)
	if names := b.look(); len(names) != 2 || names[0] != made || names[1] != newer {
		t.Errorf("there are %v", names)
	}
}

func TestProcessesWithOneDataDirectoryHaveOneID(t *testing.T) {
	directory := t.TempDir()
	ids := make([]string, 20)
	var running sync.WaitGroup
	for i := range ids {
		running.Go(func() {
			var err error
			if ids[i], err = (&backups{dataDir: directory}).readOrMakeID(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, id := range ids {
		if id != ids[0] || !validID.MatchString(id) {
			t.Fatalf("they have %v", ids)
		}
	}
	if names, err := os.ReadDir(directory); err != nil || len(names) != 1 {
		t.Errorf("in the directory are %v, %v", names, err)
	}
}
