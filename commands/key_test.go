package commands

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"users-api/config"
)

// Time passes only while the test sleeps. tests/cli/keys_test.go has what a running service does with new keys.
func TestAChangeToAFileOfKeysWorksWithin5Seconds(t *testing.T) {
	const oldKey, freshKey = "old-key-0123456789abc", "new-key-0123456789abc"
	path := filepath.Join(t.TempDir(), "keys")
	t.Setenv("API_KEY_FILE", path)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for after := range 5 {
		write(oldKey)
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			keys, err := config.ReadKeys()
			if err != nil {
				t.Fatal(err)
			}
			stop, cancel := context.WithCancel(t.Context())
			go followKeys(stop, keys, slog.New(slog.NewTextHandler(&log, nil)))
			time.Sleep(time.Duration(after) * time.Second)
			write("hr-sync " + freshKey)
			time.Sleep(5 * time.Second)
			cancel()
			synctest.Wait()
			_, old := keys.Find(oldKey)
			if key, found := keys.Find(freshKey); old || !found || key.Name != "hr-sync" {
				t.Errorf("after 5 s the old key is found: %v, and the new one: %v", old, found)
			}
			if says := log.String(); !strings.HasSuffix(says, "level=INFO msg=\"the keys were reread\" keys=1\n") || strings.Count(says, "\n") != 1 {
				t.Errorf("the log says %q", says)
			}
		})
	}
}
