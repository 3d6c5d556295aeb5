package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ringOf reads keys from a file, which a test then changes.
func ringOf(t *testing.T, path string) *Keyring {
	t.Helper()
	environment(t, map[string]string{"API_KEY_FILE": path})
	ring, err := ReadKeys()
	must(t, err)
	return ring
}

// put makes a file have a text, in place.
func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// expectNothing expects that a reading finds nothing to do, and that the keys are these.
func expectNothing(t *testing.T, ring *Keyring, want Keys) {
	t.Helper()
	if keys, err := ring.Reread(); keys != nil || err != nil {
		t.Errorf("a reading finds %v, %v", keys, err)
	}
	if got := *ring.keys.Load(); !maps.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
}

// expectNext expects that the second of two readings takes these keys.
func expectNext(t *testing.T, ring *Keyring, before, want Keys) {
	t.Helper()
	expectNothing(t, ring, before)
	if keys, err := ring.Reread(); err != nil || !maps.Equal(keys, want) {
		t.Errorf("the second reading finds %v, %v, want %v", keys, err, want)
	}
	expectNothing(t, ring, want)
}

// A writer truncates the file and has written a part: the rest of its lines, or half of a key, is missing.
func TestAFileThatIsBeingWrittenIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	before := keyA + "\n" + keyC + "\n"
	put(t, path, before)
	ring := ringOf(t, path)
	for _, part := range []string{"", keyA + "\n", keyA + "\n" + keyC[:17]} {
		put(t, path, part)
		expectNothing(t, ring, full(keyA, keyC))
	}
	put(t, path, before)
	expectNothing(t, ring, full(keyA, keyC))
	expectNothing(t, ring, full(keyA, keyC))
	put(t, path, keyA+"\n")
	expectNothing(t, ring, full(keyA, keyC))
	put(t, path, keyA+"\n"+keyB+"\n")
	expectNext(t, ring, full(keyA, keyC), full(keyA, keyB))
}

func TestAFileThatCannotBeUsedLeavesTheKeysAndIsReportedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	put(t, path, keyA)
	ring := ringOf(t, path)
	expectOneError := func(says string) {
		t.Helper()
		expectNothing(t, ring, full(keyA))
		keys, err := ring.Reread()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), keyA) || keys != nil {
			t.Errorf("the second reading finds %v, %v, want %q", keys, err, says)
		}
		for range 3 {
			expectNothing(t, ring, full(keyA))
		}
	}
	put(t, path, keyA+"\nb")
	expectOneError("line 2 of API_KEY_FILE has a key that is too short")
	put(t, path, keyA+"\nbb") // another change, and the same mistake
	expectOneError("line 2 of API_KEY_FILE has a key that is too short")
	must(t, os.Remove(path))
	expectOneError("cannot be read")
	put(t, path, keyA)
	expectNext(t, ring, full(keyA), full(keyA))
}

func TestOnlyFilesThatCanBeReadAgainAreFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	put(t, path, keyA)
	for want, set := range map[string]map[string]string{
		"false <nil>": {"API_KEY": keyA},
		"true <nil>":  {"API_KEY": keyA, "API_READ_KEY_FILE": path},
		"true the file that API_KEY_FILE names cannot be read: no such file or directory": {"API_KEY_FILE": path + "0"},
	} {
		environment(t, set)
		if got := fmt.Sprint(KeysInFiles()); got != want {
			t.Errorf("with %v it is %s, want %s", set, got, want)
		}
	}
}
