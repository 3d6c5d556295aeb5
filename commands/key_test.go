package commands

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"users-api/config"
)

const (
	oldKey   = "old-key-0123456789abc"
	freshKey = "new-key-0123456789abc"
)

func writeKeys(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sharedLog is a log that one goroutine writes and another reads.
type sharedLog struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *sharedLog) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(line)
}

func (l *sharedLog) String() string {
	l.Lock()
	defer l.Unlock()
	return l.text.String()
}

// followFile reads keys from a file and follows it until the test ends. Time passes only while the test sleeps.
func followFile(t *testing.T) (keys *config.Keyring, log *sharedLog) {
	t.Helper()
	keys, err := config.ReadKeys()
	if err != nil {
		t.Fatal(err)
	}
	log = &sharedLog{}
	stop, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go followKeys(stop, keys, slog.New(slog.NewTextHandler(log, nil)))
	return keys, log
}

func TestAChangeToAFileOfKeysWorksWithin5Seconds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	t.Setenv("API_KEY_FILE", path)
	for after := range 5 {
		writeKeys(t, path, oldKey)
		synctest.Test(t, func(t *testing.T) {
			keys, log := followFile(t)
			time.Sleep(time.Duration(after) * time.Second)
			writeKeys(t, path, "hr-sync "+freshKey)
			time.Sleep(5 * time.Second)
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
