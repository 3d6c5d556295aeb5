package commands

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"users-api/config"
	"users-api/models/sqlite"
)

// Services that share a database share its backups: one that is due is made once.
func TestABackupThatAnotherServiceHasMadeIsNotMadeAgain(t *testing.T) {
	settings := config.Config{DataDir: t.TempDir()}
	settings.Backups = config.Backups{Every: 2 * time.Second, Keep: 7, Dir: t.TempDir()}
	users, err := sqlite.Open(context.Background(), settings.DatabasePath(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(context.Background()) //nolint:errcheck // the directory is removed
	write := func(began time.Time) {
		name := filepath.Join(settings.Backups.Dir, began.UTC().Format(backupName))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := time.Now().Truncate(time.Second)
	write(other.Add(-time.Second))
	b := newBackups(settings, database{path: settings.DatabasePath()}, slog.New(slog.DiscardHandler))
	b.start(context.Background())
	defer b.stop()
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
