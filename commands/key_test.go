package commands

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"users-api/config"
	"users-api/database"
	"users-api/models"
	"users-api/tests/program"
)

// Time passes only while the test sleeps. A file that is being written counts once it stays the same, and a mistake is said
// once. tests/operating/keys_test.go has what a running service does with new keys.
func TestAChangeToAFileOfKeysWorksWithin5SecondsAndAMistakeLeavesTheKeys(t *testing.T) {
	const oldKey, freshKey = "old-key-0123456789abc", "new-key-0123456789abc"
	const short = "level=ERROR…line 2 of API_KEY_FILE has a key that is too short…"
	path := filepath.Join(t.TempDir(), "keys")
	t.Setenv("API_KEY_FILE", path)
	write := func(text string) { program.WriteFile(t, path, text) }
	for after := range 5 {
		write(oldKey)
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			keys, err := config.ReadKeys()
			program.Must(t, err)
			stop, cancel := context.WithCancel(t.Context())
			go followKeys(stop, keys, slog.New(slog.NewTextHandler(&log, nil)))
			time.Sleep(time.Duration(after) * time.Second)
			for _, step := range []struct {
				text      string
				stays     time.Duration
				key, says string
			}{
				{oldKey[:17], time.Second, oldKey, ""}, // half of a key
				{freshKey + "\n" + oldKey, time.Second, oldKey, ""},
				{oldKey, 5 * time.Second, oldKey, ""},
				{"hr-sync " + freshKey, 5 * time.Second, freshKey, "level=INFO msg=\"the keys were reread\" keys=1"},
				{freshKey + "\nb", time.Minute, freshKey, short},
				{freshKey + "\nbb", 5 * time.Second, freshKey, short}, // another change, and the same mistake
				{"", time.Minute, freshKey, "level=ERROR…API_KEY_FILE is set and has no key…"},
				{oldKey, 5 * time.Second, oldKey, "level=INFO msg=\"the keys were reread\" keys=1"},
			} {
				log.Reset()
				write(step.text)
				time.Sleep(step.stays)
				synctest.Wait()
				_, isOld := keys.Find(oldKey)
				fresh, isFresh := keys.Find(freshKey)
				if isOld != (step.key == oldKey) || isFresh != (step.key == freshKey) || isFresh && fresh.Name != "hr-sync" {
					t.Errorf("after %q the old key is found: %v, and the new one: %v", step.text, isOld, isFresh)
				}
				_, says, _ := strings.Cut(log.String(), " ") // behind the time
				if !program.Matches(strings.TrimSuffix(says, "\n"), step.says) || strings.Count(says, "\n") > 1 {
					t.Errorf("after %q the log says %q, want %q", step.text, log.String(), step.says)
				}
			}
			cancel()
			synctest.Wait()
		})
	}
}

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
			if failed := bytes.Count(log.Bytes(), []byte("newest=none")); failed != tries {
				t.Errorf("with BACKUP_EVERY=%s it was tried %d times in two hours, and not %d:\n%.1000s", every, failed, tries, &log)
			}
		})
	}
}
