package config

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const (
	keyA = "aaaaaaaaaaaaaaaa"
	keyB = "!b~bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	keyC = "cccccccccccccccccccc"
)

// environment makes only these variables of keys be set. The text of one with _FILE is written into a file.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{"API_KEY", "API_KEY_FILE", "API_READ_KEY", "API_READ_KEY_FILE"} {
		value, isSet := set[name]
		t.Setenv(name, value) // so that it is as it was after the test
		if !isSet {
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if strings.HasSuffix(name, "_FILE") && !strings.HasPrefix(value, "/") {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv(name, path)
		}
	}
}

func sums(keys ...string) (sums [][sha256.Size]byte) {
	for _, key := range keys {
		sums = append(sums, sha256.Sum256([]byte(key)))
	}
	return sums
}

func TestKeysAreReadInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]string
		want Keys
	}{
		"none":                                 {nil, Keys{}},
		"a variable":                           {map[string]string{"API_KEY": keyA}, Keys{Full: sums(keyA)}},
		"two variables":                        {map[string]string{"API_KEY": keyA, "API_READ_KEY": keyB}, Keys{sums(keyA), sums(keyB)}},
		"a variable with a newline at its end": {map[string]string{"API_KEY": keyA + "\n"}, Keys{Full: sums(keyA)}},
		"a file without a newline":             {map[string]string{"API_KEY_FILE": keyA}, Keys{Full: sums(keyA)}},
		"a file of two keys":                   {map[string]string{"API_KEY_FILE": keyA + "\n" + keyC + "\n"}, Keys{Full: sums(keyA, keyC)}},
		"a file from Windows":                  {map[string]string{"API_KEY_FILE": "\r\n" + keyA + "\r\n\r\n" + keyC}, Keys{Full: sums(keyA, keyC)}},
		"a file and a variable": {
			map[string]string{"API_KEY": keyA, "API_READ_KEY_FILE": keyB + "\n"}, Keys{sums(keyA), sums(keyB)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.set)
			if got, err := ReadKeys(); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %x, %v", got, err)
			}
		})
	}
}

func TestAFileOfKeysMayHave64KiB(t *testing.T) {
	text := keyA + strings.Repeat("\n", 64<<10-len(keyA))
	environment(t, map[string]string{"API_KEY_FILE": text})
	if got, err := ReadKeys(); err != nil || !reflect.DeepEqual(got, Keys{Full: sums(keyA)}) {
		t.Errorf("a file of %d bytes: %v", len(text), err)
	}
	environment(t, map[string]string{"API_KEY_FILE": text + "\n"})
	if _, err := ReadKeys(); err == nil {
		t.Errorf("a file of %d bytes is taken", len(text)+1)
	}
}

func TestAMistakeInAKeyIsNamedWithoutTheKey(t *testing.T) {
	large := strings.Repeat(keyA+"\n", 4<<10)
	for name, c := range map[string]struct {
		set  map[string]string
		says string
	}{
		"empty":                       {map[string]string{"API_KEY": ""}, "API_KEY is set and has no key"},
		"only a newline":              {map[string]string{"API_KEY": "\n"}, "API_KEY is set and has no key"},
		"too short":                   {map[string]string{"API_KEY": keyA[1:]}, "API_KEY has a key that is too short"},
		"a second that is too short":  {map[string]string{"API_KEY_FILE": keyA + "\nb"}, "API_KEY_FILE has a key that is too short"},
		"a space within":              {map[string]string{"API_KEY": keyA + " " + keyA}, "API_KEY has a key with a space"},
		"a space at the end":          {map[string]string{"API_KEY": keyA + " "}, "API_KEY has a key with a space"},
		"a tab":                       {map[string]string{"API_READ_KEY": keyA + "\t", "API_KEY": keyB}, "API_READ_KEY has a key with a space"},
		"a control character":         {map[string]string{"API_KEY": keyA + "\x7f"}, "API_KEY has a key with a space or another"},
		"a letter beyond ASCII":       {map[string]string{"API_KEY": keyA + "é"}, "API_KEY has a key with a space or another"},
		"a file with a mark of UTF-8": {map[string]string{"API_KEY_FILE": "\ufeff" + keyA}, "API_KEY_FILE has a key with a space or another"},
		"both forms":                  {map[string]string{"API_KEY": keyA, "API_KEY_FILE": keyA}, "API_KEY and API_KEY_FILE are both set"},
		"both forms, one empty":       {map[string]string{"API_KEY": keyA, "API_KEY_FILE": "/"}, "API_KEY and API_KEY_FILE are both set"},
		"an empty file":               {map[string]string{"API_KEY_FILE": ""}, "API_KEY_FILE is set and has no key"},
		"a file of blank lines":       {map[string]string{"API_READ_KEY_FILE": "\r\n\n", "API_KEY": keyA}, "API_READ_KEY_FILE is set and has no key"},
		"no file":                     {map[string]string{"API_KEY_FILE": "/" + keyA}, "the file that API_KEY_FILE names cannot be read: no such file"},
		"a directory":                 {map[string]string{"API_KEY_FILE": "/"}, "the file that API_KEY_FILE names cannot be read: is a directory"},
		"a file that is too large":    {map[string]string{"API_KEY_FILE": large}, "the file that API_KEY_FILE names cannot be read: it is larger"},
		"only a key that reads":       {map[string]string{"API_READ_KEY": keyA}, "API_READ_KEY is set without API_KEY"},
		"one key in both": {
			map[string]string{"API_KEY": keyA, "API_READ_KEY_FILE": keyB + "\n" + keyA}, "API_KEY and API_READ_KEY_FILE have a key in common",
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.set)
			got, err := ReadKeys()
			if err == nil || !strings.HasPrefix(err.Error(), c.says) {
				t.Fatalf("the error is %v", err)
			}
			if got.Full != nil || got.Read != nil {
				t.Error("keys come with the error")
			}
			if strings.Contains(err.Error(), "aaaa") || strings.Contains(err.Error(), "bbbb") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has a key, or more than a line: %v", err)
			}
		})
	}
}
