package config

import (
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	keyA = "aaaaaaaaaaaaaaaa"
	keyB = "!b~bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	keyC = "cccccccccccccccccccc"

	longName = "aaaaaaaaaaaaaaaaaaaaaaaa" // with one character more it would not be a name
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// environment makes only these variables of keys be set. The text of one with _FILE is written into a file.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{"API_KEY", "API_KEY_FILE", "API_READ_KEY", "API_READ_KEY_FILE"} {
		value, isSet := set[name]
		t.Setenv(name, "") // so that it is as it was after the test
		must(t, os.Unsetenv(name))
		if !isSet {
			continue
		}
		if strings.HasSuffix(name, "_FILE") && !strings.HasPrefix(value, "/") {
			path := filepath.Join(t.TempDir(), name)
			put(t, path, value)
			value = path
		}
		t.Setenv(name, value)
	}
}

// full are keys without a name that never end.
func full(keys ...string) Keys { return Keys{}.with(Key{Full: true}, keys...) }

// with adds keys of which a line says the same.
func (k Keys) with(says Key, keys ...string) Keys {
	for _, key := range keys {
		k[sha256.Sum256([]byte(key))] = says
	}
	return k
}

func named(name string, keys ...string) Keys {
	return Keys{}.with(Key{Name: name, Full: true}, keys...)
}

func endOf(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
}

func expectKeys(t *testing.T, want Keys) {
	t.Helper()
	ring, err := ReadKeys()
	must(t, err)
	if got := *ring.keys.Load(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAFileOfKeysMayHave256KiB(t *testing.T) {
	text := keyA + strings.Repeat("\n", 256<<10-len(keyA))
	environment(t, map[string]string{"API_KEY_FILE": text})
	if ring, err := ReadKeys(); err != nil || !maps.Equal(*ring.keys.Load(), full(keyA)) {
		t.Errorf("a file of %d bytes: %v", len(text), err)
	}
	environment(t, map[string]string{"API_KEY_FILE": text + "\n"})
	if _, err := ReadKeys(); err == nil {
		t.Errorf("a file of %d bytes is taken", len(text)+1)
	}
}

// expectMistake expects an error that begins like this, and quotes no key.
func expectMistake(t *testing.T, says string) {
	t.Helper()
	ring, err := ReadKeys()
	if err == nil || !strings.HasPrefix(err.Error(), says) {
		t.Fatalf("the error is %v", err)
	}
	if ring != nil {
		t.Error("keys come with the error")
	}
	for _, secret := range []string{"aaaa", "bbbb", "cccc", "\n"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has a key, or more than a line: %v", err)
		}
	}
}
