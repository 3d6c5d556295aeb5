package config

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// readOnly reads the settings of which only these are set.
func readOnly(t *testing.T, set map[string]string) (Config, error) {
	for _, setting := range Settings() {
		t.Setenv(setting.Name, set[setting.Name])
		if strings.HasSuffix(setting.Name, "_KEY") { // set and empty, it would be a mistake
			program.Must(t, os.Unsetenv(setting.Name))
		}
	}
	return Read()
}

func TestNothingSetGivesTheDefaults(t *testing.T) {
	data, err := filepath.Abs("data")
	program.Must(t, err)
	got, err := readOnly(t, nil)
	want := Config{Port: 3000, DataDir: data, ListMemory: 32 << 20, ImportMax: 512 << 20,
		LogFormat: "text", LogLevel: slog.LevelInfo, ChangesKeep: 720 * time.Hour,
		Backups: Backups{Keep: 7, Dir: filepath.Join(data, "backups")}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	got, err := readOnly(t, map[string]string{
		"PORT": "0", "NODE_ENV": "production", "DATA_DIR": "/srv/people", "LIST_MEMORY_MIB": "1", "IMPORT_MAX_MIB": "2",
		"LOG_FORMAT": "JSON", "LOG_LEVEL": "WARN", "RUN_AS": "65532", "LISTEN_ADDRESS": "0:0:0:0:0:0:0:1", "ADMIN_PORT": "0",
		"USER_FIELDS": "phone, department ,order", "CHANGES_KEEP": "48h",
		"BACKUP_EVERY": "1h30m", "BACKUP_KEEP": "1", "BACKUP_DIR": "/mnt/backups",
		"ALLOWED_HOSTS": "Users.Example.org., localhost,[::1],0:0:0:0:0:0:0:2,192.0.2.1,xn--bcher-kva.example",
	})
	want := Config{NodeEnv: "production", DataDir: "/srv/people", ListMemory: 1 << 20, ImportMax: 2 << 20, LogFormat: "json",
		LogLevel: slog.LevelWarn, RunAs: 65532, ChangesKeep: 48 * time.Hour,
		Backups:       Backups{Every: 90 * time.Minute, Keep: 1, Dir: "/mnt/backups"},
		ListenAddress: "::1", AdminPort: new(uint16),
		UserFields:   []string{"phone", "department", "order"},
		AllowedHosts: []string{"users.example.org", "localhost", "::1", "::2", "192.0.2.1", "xn--bcher-kva.example"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	if path := got.DatabasePath(); path != "/srv/people/users.db" {
		t.Errorf("the database is %s", path)
	}
}

func TestAMistakeIsNamedWithItsValue(t *testing.T) {
	for name, values := range map[string][]string{
		"PORT": {"abc", " 3000 ", "1e3", "-1", "70000"}, "LIST_MEMORY_MIB": {"lots", "65536"}, "IMPORT_MAX_MIB": {"512M"},
		"LOG_FORMAT": {"xml"}, "LOG_LEVEL": {"loud", "error+4"}, "RUN_AS": {"nobody"}, "ADMIN_PORT": {"no"},
		"LISTEN_ADDRESS": {"localhost", "127.0.0.1:80", "[::1]", " ::1"}, "CHANGES_KEEP": {"59m", "30", "-1h", "30d"},
		"ALLOWED_HOSTS": {",", "a,,b", "a:80", "http://a", "*.example.org", "bücher.example", "a b", "-a"},
		"BACKUP_EVERY":  {"daily", "59s", "3600"}, "BACKUP_KEEP": {"0", "all"},
	} {
		for _, value := range values {
			_, err := readOnly(t, map[string]string{name: value})
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("%s is %q", name, value)) {
				t.Errorf("%s=%s: the error is %v, and does not begin with the variable and the value", name, value, err)
			}
		}
	}
}

func TestAVariableThatIsNearlyASettingIsNamedWithIt(t *testing.T) {
	for name, setting := range map[string]string{
		"API_KYE": "API_KEY", "API_KEYS": "API_KEY", "APIKEY": "API_KEY", "API_KEX": "API_KEY",
		"API_KEY_FIEL": "API_KEY_FILE", "DATADIR": "DATA_DIR", "PUBLIHS": "PUBLISH",
		"PUID":    "RUN_AS",                                  // as other images call it
		"API_YEK": "", "API_KEY_1": "", "GOOGLE_API_KEY": "", // more than one slip
		"PROT": "", "RUNAS": "", "UID": "", // too few letters
		"API_KEY": "", "DATABASE_URL_FILE": "", // settings themselves
	} {
		t.Setenv(name, "secret")
		if got := Misspelt()[name]; got != setting {
			t.Errorf("%s is taken for %q, and not for %q", name, got, setting)
		}
	}
}

func TestTheLargestListMemoryFitsAnIntOfAnySize(t *testing.T) {
	got, err := readOnly(t, map[string]string{"LIST_MEMORY_MIB": "65535"})
	if want := min(int64(65535)<<20, math.MaxInt); err != nil || int64(got.ListMemory) != want {
		t.Errorf("it is read as %d bytes and not as %d, %v", got.ListMemory, want, err)
	}
}

const (
	keyA = "aaaaaaaaaaaaaaaa"
	keyB = "!b~bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	keyC = "cccccccccccccccccccc"
	sumA = "sha256:0c0beacef8877bbf2416eb00f2b5dc96354e26dd1df5517320459b1236860f8c" // printf aaaaaaaaaaaaaaaa | sha256sum

	longName = "aaaaaaaaaaaaaaaaaaaaaaaa" // with one character more it would not be a name
)

// read reads the keys from a file with a text.
func read(t *testing.T, text string) (*Keyring, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, path, text)
	t.Setenv("API_KEY_FILE", path)
	return ReadKeys()
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
		"Windows, blank lines":      {"\r\n" + keyA + "\r\n\r\n" + keyC, full(keyA, keyC)},
		"a sum":                     {sumA, full(keyA)},
		"a name, a sum in capitals": {"hr-sync " + strings.ToUpper(sumA), named("hr-sync", keyA)},
		"the longest name":          {longName + " " + keyA, named(longName, keyA)},
		"comments on their lines":   {"# all of them\n  #\n#\n" + keyA, full(keyA)},
		"# in and behind a key":     {keyA + "#" + keyB + "#", full(keyA + "#" + keyB + "#")},
		"a last day":                {"a " + keyA + " 2027-01-31", with(Key{Name: "a", Until: endOf(2027, 1, 31), Full: true}, keyA)},
		"256 KiB":                   {keyA + strings.Repeat("\n", 256<<10-len(keyA)), full(keyA)},
		"a byte order mark":         {"\ufeff" + keyA + "\r\n" + keyC, full(keyA, keyC)},
		"= in a key":                {keyA + "=\nAPI_KEYS=" + keyA, full(keyA+"=", "API_KEYS="+keyA)},
	} {
		if ring, err := read(t, c.lines); err != nil || !maps.Equal(*ring.keys.Load(), c.want) {
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
	_, shown, _ := strings.Cut(program.ReadFile(t, "../docs/operating.md"), "```\n# API_KEY_FILE\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	if ring, err := read(t, shown); err != nil || len(*ring.keys.Load()) != 3 {
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
		"a short key further down":  {keyA + "\n\n# of 2026\nb", "line 4" + short},
		"a name of 25 characters":   {longName + "a " + keyA, "line 1" + name},
		"a name beyond ASCII":       {"aaaaé " + keyA, "line 1" + name},
		"a day that does not exist": {"a " + keyA + " 2027-02-29", "line 1" + after},
		"a sum that is too long":    {"a sha256:" + strings.Repeat("a", 66), "line 1" + sum},
		"a control character":       {keyA + "\x7f", "line 1" + char},
		"a key and its sum":         {keyA + "\n" + "a " + sumA, "line 2" + twice},
		"quotation marks":           {`"` + keyA + `"`, "line 1" + alone},
		"a line of .env":            {"API_KEY=" + keyA, "line 1" + alone},
		"256 KiB and a byte":        {strings.Repeat("\n", 256<<10+1), large},
	} {
		ring, err := read(t, test.lines)
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
