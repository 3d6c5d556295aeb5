package commands

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"users-api/config"
	"users-api/database"
	"users-api/models"
	"users-api/tests/program"
)

// Services that share a database share its backups: one that is due is made once. The clock is a pretended one.
func TestABackupThatAnotherServiceHasMadeIsNotMadeAgain(t *testing.T) {
	settings := config.Config{DataDir: t.TempDir(), Backups: config.Backups{Every: 2 * time.Hour, Keep: 7, Dir: t.TempDir()}}
	users, err := database.Location{Path: settings.DatabasePath(), Fields: models.NewFields()}.Open(context.Background(), 0)
	program.Must(t, errors.Join(err, users.Close(context.Background())))
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := &backups{Backups: settings.Backups, database: settings.DatabasePath(), logger: slog.New(slog.NewTextHandler(&log, nil))}
		write := func(began time.Time) { program.WriteFile(t, filepath.Join(b.Dir, began.UTC().Format(backupName)), "") }
		other := time.Now()
		write(other.Add(-time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		go b.run(ctx)
		synctest.Wait()
		write(other) // before ours is due
		time.Sleep(b.Every + time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if names := b.look(); len(names) != 3 || !b.lastBackup().Equal(other.Add(b.Every)) {
			t.Errorf("%s after the other there are %v", b.Every, names)
		}
		if said := bytes.Count(log.Bytes(), []byte("no backup is due")); said != 1 { // it may be of another database
			t.Errorf("that another service makes backups there is said %d times:\n%s", said, &log)
		}
	})
}

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
