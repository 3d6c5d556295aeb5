package config

import (
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

// Kubernetes has keys -> ..data/keys and ..data -> ..TIME, and replaces ..data.
func TestADirectoryThatIsReplacedThroughALinkGivesNewKeys(t *testing.T) {
	directory := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		must(t, os.Mkdir(filepath.Join(directory, name), 0o700))
		put(t, filepath.Join(directory, name, "keys"), text)
		link := filepath.Join(directory, "..data")
		must(t, os.Symlink(name, link+"_tmp"))
		must(t, os.Rename(link+"_tmp", link))
	}
	version("..1", keyA)
	path := filepath.Join(directory, "keys")
	must(t, os.Symlink("..data/keys", path))
	ring := ringOf(t, path)
	version("..2", keyC)
	must(t, os.RemoveAll(filepath.Join(directory, "..1")))
	expectNext(t, ring, full(keyA), full(keyC))
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
	put(t, path, "")
	expectOneError("API_KEY_FILE is set and has no key")
	must(t, os.Remove(path))
	expectOneError("cannot be read")
	must(t, os.Mkdir(path, 0o700))
	expectOneError("cannot be read")
	must(t, os.Remove(path))
	expectOneError("cannot be read")
	put(t, path, keyA)
	expectNext(t, ring, full(keyA), full(keyA))
}

func TestTheRulesOfBothFilesHoldAtEachReading(t *testing.T) {
	directory := t.TempDir()
	fullPath, readPath := filepath.Join(directory, "full"), filepath.Join(directory, "read")
	put(t, fullPath, keyA)
	put(t, readPath, keyB)
	environment(t, map[string]string{"API_KEY_FILE": fullPath, "API_READ_KEY_FILE": readPath})
	ring, err := ReadKeys()
	must(t, err)
	both := full(keyA).with(Key{}, keyB)
	put(t, readPath, keyB+"\n"+keyA)
	expectNothing(t, ring, both)
	const says = "line 2 of API_READ_KEY_FILE has a key that is already listed"
	if _, err := ring.Reread(); err == nil || !strings.HasPrefix(err.Error(), says) {
		t.Errorf("the error is %v", err)
	}
	expectNothing(t, ring, both)
	put(t, fullPath, keyC) // now the key only reads
	expectNext(t, ring, both, full(keyC).with(Key{}, keyA, keyB))
}

func TestOnlyFilesThatCanBeReadAgainAreFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	put(t, path, keyA)
	for name, c := range map[string]struct {
		set     map[string]string
		inFiles bool
		says    string
	}{
		"no keys":          {nil, false, ""},
		"a variable":       {map[string]string{"API_KEY": keyA}, false, ""},
		"a file":           {map[string]string{"API_KEY_FILE": path}, true, ""},
		"a file of two":    {map[string]string{"API_KEY": keyA, "API_READ_KEY_FILE": path}, true, ""},
		"a pipe or device": {map[string]string{"API_KEY_FILE": os.DevNull}, true, "the file that API_KEY_FILE names cannot be read: not"},
		"no file":          {map[string]string{"API_KEY_FILE": path + "0"}, true, "the file that API_KEY_FILE names cannot be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.set)
			inFiles, err := KeysInFiles()
			if inFiles != c.inFiles || (err == nil) != (c.says == "") || err != nil && !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("got %v, %v", inFiles, err)
			}
			if err != nil && strings.Contains(err.Error(), path) {
				t.Errorf("the error has the path: %v", err)
			}
		})
	}
}
