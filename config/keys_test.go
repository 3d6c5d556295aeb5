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
	sumA = "sha256:0c0beacef8877bbf2416eb00f2b5dc96354e26dd1df5517320459b1236860f8c" // printf aaaaaaaaaaaaaaaa | sha256sum

	longName = "aaaaaaaaaaaaaaaaaaaaaaaa" // with one character more it would not be a name
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// environment makes only these variables of keys be set.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{"API_KEY", "API_KEY_FILE", "API_READ_KEY", "API_READ_KEY_FILE"} {
		t.Setenv(name, set[name]) // so that it is as it was after the test
		if set[name] == "" {
			must(t, os.Unsetenv(name))
		}
	}
}

// put makes a file have a text, in place.
func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// read reads the keys from a file with a text, which a test may then change.
func read(t *testing.T, text string) (path string, ring *Keyring, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "keys")
	put(t, path, text)
	environment(t, map[string]string{"API_KEY_FILE": path})
	ring, err = ReadKeys()
	return path, ring, err
}

// full are keys without a name that never end.
func full(keys ...string) Keys { return named("", keys...) }

func named(name string, keys ...string) Keys { return with(Key{Name: name, Full: true}, keys...) }

// with are keys of which a line says the same.
func with(says Key, keys ...string) Keys {
	all := Keys{}
	for _, key := range keys {
		all[sha256.Sum256([]byte(key))] = says
	}
	return all
}

func endOf(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
}

func TestEveryFormOfALineIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		want  Keys
	}{
		"a key, no newline":          {keyA, full(keyA)},
		"Windows, blank lines":       {"\r\n" + keyA + "\r\n\r\n" + keyC, full(keyA, keyC)},
		"a sum":                      {sumA, full(keyA)},
		"a name, a sum in capitals":  {"hr-sync " + strings.ToUpper(sumA), named("hr-sync", keyA)},
		"a name of digits and marks": {"0._-Z " + keyA, named("0._-Z", keyA)},
		"the longest name":           {longName + " " + keyA, named(longName, keyA)},
		"one name for two keys":      {"a " + keyA + "\na " + keyC, named("a", keyA, keyC)},
		"blanks around words":        {"\t a \t" + keyA + " \t\r\n", named("a", keyA)},
		"comments on their lines":    {"# all of them\n  #\n#\n" + keyA, full(keyA)},
		"comments after keys":        {keyA + " # of 2026\n" + keyC + "\t#", full(keyA, keyC)},
		"# in and behind a key":      {keyA + "#" + keyB + "#", full(keyA + "#" + keyB + "#")},
		"a last day":                 {"a " + keyA + " 2027-01-31", with(Key{"a", endOf(2027, 1, 31), true}, keyA)},
		"a day, a comment":           {"a " + sumA + " 2028-02-29 # x", with(Key{"a", endOf(2028, 2, 29), true}, keyA)},
		"nearly a sum":               {"sha256-" + keyA, full("sha256-" + keyA)},
		"256 KiB":                    {keyA + strings.Repeat("\n", 256<<10-len(keyA)), full(keyA)},
		"a byte order mark":          {"\ufeff" + keyA + "\r\n" + keyC, full(keyA, keyC)},
		"one quotation mark":         {`"` + keyA + "\n" + keyC + "'", full(`"`+keyA, keyC+"'")},
		"= in a key":                 {keyA + "=\nAPI_KEYS=" + keyA, full(keyA+"=", "API_KEYS="+keyA)},
	} {
		if _, ring, err := read(t, c.lines); err != nil || !maps.Equal(*ring.keys.Load(), c.want) {
			t.Errorf("%s: %.500q is read as %v, %v, want %v", name, c.lines, ring, err, c.want)
		}
	}
}

func TestAKeyEndsAtTheMidnightAfterItsLastDay(t *testing.T) {
	midnight := endOf(2027, 1, 31)
	last := Key{Until: midnight}
	if last.Ended(midnight.Add(-1)) || !last.Ended(midnight) || (Key{}).Ended(midnight) {
		t.Errorf("a key ends at %s, and one without a last day never: %t, %t, %t", midnight,
			last.Ended(midnight.Add(-1)), last.Ended(midnight), Key{}.Ended(midnight))
	}
}

func TestTheFileOfKeysThatTheDocumentShowsIsRead(t *testing.T) {
	text, err := os.ReadFile("../docs/operating.md")
	must(t, err)
	_, shown, _ := strings.Cut(string(text), "```\n# API_KEY_FILE\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	if _, ring, err := read(t, shown); err != nil || len(*ring.keys.Load()) != 3 {
		t.Errorf("%q is read as %v, %v", shown, ring, err)
	}
}

func TestAMistakeInALineIsNamedWithItsNumberAndWithoutTheKey(t *testing.T) {
	const (
		short = " of API_KEY_FILE has a key that is too short"
		name  = " of API_KEY_FILE has a name that a key cannot have"
		after = " of API_KEY_FILE has something else than a date after a key"
		sum   = " of API_KEY_FILE has a key that begins with sha256: and does not go on with 64 hexadecimal digits"
		char  = " of API_KEY_FILE has a key with a character that keys cannot have"
		twice = " of API_KEY_FILE has a key that is already listed"
		alone = " of API_KEY_FILE has a key in quotation marks, or behind the name of its setting and =: write the key alone"
		large = "the file that API_KEY_FILE names cannot be read: it is larger than 256 KiB"
	)
	for title, test := range map[string]struct{ lines, says string }{
		"a short key further down":    {keyA + "\n\n# of 2026\nb", "line 4" + short},
		"a name and a short key":      {"hr-sync " + keyA[1:], "line 1" + short},
		"a date without a name":       {keyA + " 2027-01-31", "line 1" + short},
		"a name of 25 characters":     {longName + "a " + keyA, "line 1" + name},
		"a name that begins with -":   {"-a " + keyA, "line 1" + name},
		"a name beyond ASCII":         {"aaaaé " + keyA, "line 1" + name},
		"a day that does not exist":   {"a " + keyA + " 2027-02-29", "line 1" + after},
		"a day in another form":       {"a " + keyA + " 31.01.2027", "line 1" + after},
		"a word after the day":        {"a " + keyA + " 2027-01-31 aaaa", "line 1" + after},
		"a sum that is too long":      {"a sha256:" + strings.Repeat("a", 66), "line 1" + sum},
		"a sum with a letter too far": {"sha256:" + strings.Repeat("a", 63) + "g", "line 1" + sum},
		"a control character":         {keyA + "\x7f", "line 1" + char},
		"another blank":               {keyA + "\v" + keyA, "line 1" + char},
		"a letter beyond ASCII":       {keyA + "é", "line 1" + char},
		"a key and its sum":           {keyA + "\n" + "a " + sumA, "line 2" + twice},
		"quotation marks":             {`"` + keyA + `"`, "line 1" + alone},
		"apostrophes, after a name":   {keyC + "\na '" + keyA + "'", "line 2" + alone},
		"a line of .env":              {"API_KEY=" + keyA, "line 1" + alone},
		"the other setting's name":    {keyC + "\nAPI_READ_KEY=" + keyA, "line 2" + alone},
		"256 KiB and a byte":          {strings.Repeat("\n", 256<<10+1), large},
	} {
		_, ring, err := read(t, test.lines)
		if err == nil || !strings.HasPrefix(err.Error(), test.says) || ring != nil {
			t.Fatalf("%s: got %v, %v, want %s", title, ring, err, test.says)
		}
		for _, secret := range []string{"aaaa", "bbbb", "cccc", "\n"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has a key, or more than a line: %v", title, err)
			}
		}
	}
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
	const before = keyA + "\n" + keyC + "\n"
	path, ring, err := read(t, before)
	must(t, err)
	for _, part := range []string{"", keyA + "\n", keyA + "\n" + keyC[:17], before, before, keyA + "\n"} {
		put(t, path, part)
		expectNothing(t, ring, full(keyA, keyC))
	}
	put(t, path, keyA+"\n"+keyB+"\n")
	expectNext(t, ring, full(keyA, keyC), full(keyA, keyB))
}

func TestAFileThatCannotBeUsedLeavesTheKeysAndIsReportedOnce(t *testing.T) {
	path, ring, err := read(t, keyA)
	must(t, err)
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
	path, _, err := read(t, keyA)
	must(t, err)
	environment(t, map[string]string{"API_KEY": keyA, "API_READ_KEY_FILE": path})
	must(t, CheckFiles())
	put(t, path, "no key")
	must(t, CheckFiles()) // while it is written
	environment(t, map[string]string{"API_KEY_FILE": path, "API_READ_KEY_FILE": path + "0"})
	if err := CheckFiles(); err == nil || !strings.HasPrefix(err.Error(), "the file that API_READ_KEY_FILE names cannot be read") {
		t.Errorf("got %v", err)
	}
}
