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
)

// Services that share a database share its backups: one that is due is made once.
func TestABackupThatAnotherServiceHasMadeIsNotMadeAgain(t *testing.T) {
	settings := config.Config{DataDir: t.TempDir()}
	settings.Backups = config.Backups{Every: 2 * time.Second, Keep: 7, Dir: t.TempDir()}
	users, err := models.Database{Path: settings.DatabasePath(), Fields: models.NewFields()}.Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(context.Background()) //nolint:errcheck // the directory is removed
	b := &backups{Backups: settings.Backups, database: settings.DatabasePath(), logger: slog.New(slog.DiscardHandler)}
	write := func(began time.Time) {
		path := filepath.Join(b.Dir, began.UTC().Format(backupName))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := time.Now().Truncate(time.Second)
	write(other.Add(-time.Second))
	b.look()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { b.run(ctx) })
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
			b := &backups{Backups: config.Backups{Every: every, Keep: 7, Dir: "/dev/null/none"}, logger: slog.New(slog.NewTextHandler(&log, nil))}
			ctx, cancel := context.WithCancel(t.Context())
			go b.run(ctx)
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			cancel()
			synctest.Wait()
			if failed := bytes.Count(log.Bytes(), []byte("no backup was made")); failed != tries {
				t.Errorf("with BACKUP_EVERY=%s it was tried %d times in two hours, and not %d:\n%.1000s", every, failed, tries, &log)
			}
		})
	}
}
