package config

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// readOnly reads the settings of which only these are set.
func readOnly(t *testing.T, set map[string]string) (Config, error) {
	for _, setting := range Settings() {
		t.Setenv(setting.Name, set[setting.Name])
	}
	return Read()
}

func TestNothingSetGivesTheDefaults(t *testing.T) {
	data, err := filepath.Abs("data")
	must(t, err)
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
		"LOG_FORMAT": "json", "LOG_LEVEL": "WARN", "RUN_AS": "65532", "LISTEN_ADDRESS": "::1", "ADMIN_PORT": "0",
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
		"PORT":            {"abc", " 3000 ", "1e3", "-1", "70000", "0x10"},
		"LIST_MEMORY_MIB": {"lots", "65536"},
		"IMPORT_MAX_MIB":  {"512M"},
		"LOG_FORMAT":      {"xml", "JSON"},
		"LOG_LEVEL":       {"loud", "error+4"},
		"RUN_AS":          {"nobody"},
		"LISTEN_ADDRESS":  {"localhost", "127.0.0.1:80", "[::1]", "1.2.3", " ::1"},
		"ADMIN_PORT":      {"no", "65536", "3000"}, // PORT is the same
		"ALLOWED_HOSTS": {",", "a,,b", "a:80", "http://a", "*.example.org", "bücher.example", "[::1]:80",
			"a b", "-a"},
		"CHANGES_KEEP": {"59m", "30", "-1h", "30d", "forever"},
		"BACKUP_EVERY": {"daily", "59s", "-1h", "3600", "0"},
		"BACKUP_KEEP":  {"0", "all", "65536"},
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
		"API_KYE": "API_KEY", "API_KEYS": "API_KEY", "APIKEY": "API_KEY", "API_KEX": "API_KEY", "XAPI_KEY": "API_KEY",
		"API_KEY_FIEL": "API_KEY_FILE", "API_READ_KEY_FIL": "API_READ_KEY_FILE",
		"DATABASE_URL_FILES": "DATABASE_URL_FILE", "DATADIR": "DATA_DIR", "PUBLIHS": "PUBLISH",
		"PUID": "RUN_AS", // as other images call it

		"API_YEK": "", "AIP_KYE": "", "API_KEY_1": "", "GOOGLE_API_KEY": "", "API": "", // more than one slip
		"PORTS": "", "PROT": "", "RUNAS": "", "RUN_AT": "", "PGID": "", "UID": "", // too few letters
		"API_KEY": "", "API_KEY_FILE": "", "API_READ_KEY_FILE": "", "DATABASE_URL_FILE": "", // settings themselves
	} {
		t.Setenv(name, "secret")
		if got := Misspelt()[name]; got != setting {
			t.Errorf("%s is taken for %q, and not for %q", name, got, setting)
		}
	}
}

// A service that compose publishes listens inside of its container, where other addresses than 127.0.0.1 are not known.
func TestWhereComposePublishesSaysWhoReachesThePort(t *testing.T) {
	for publish, here := range map[string]bool{
		"": false, "3000": false, "0.0.0.0:3000": false, "192.0.2.1:3000": false, "[::]:3000": false,
		"127.0.0.1:3000": true, "127.0.0.1:": true, "127.0.0.2:8000-8010": true, "[::1]:3000": true,
	} {
		got, err := readOnly(t, map[string]string{"PUBLISH": publish})
		if err != nil || got.PublishedHere() != here {
			t.Errorf("PUBLISH=%s: on this machine alone: %v, %v", publish, got.PublishedHere(), err)
		}
	}
	for _, address := range []string{"127.0.0.1", "::1"} {
		_, err := readOnly(t, map[string]string{"PUBLISH": "127.0.0.1:3000", "LISTEN_ADDRESS": address})
		want := fmt.Sprintf("LISTEN_ADDRESS is %q, which nobody outside of the container reaches: "+
			"with compose, set PUBLISH instead", address)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestTheLargestListMemoryFitsAnIntOfAnySize(t *testing.T) {
	for _, mib := range []int{2047, 2048, 4096, 65535} {
		got, err := readOnly(t, map[string]string{"LIST_MEMORY_MIB": strconv.Itoa(mib)})
		if want := min(int64(mib)<<20, math.MaxInt); err != nil || int64(got.ListMemory) != want {
			t.Errorf("%d MiB are read as %d bytes and not as %d, %v", mib, got.ListMemory, want, err)
		}
	}
}

func TestAnAddressHasOneSpelling(t *testing.T) {
	for set, want := range map[string]string{"": "", "0.0.0.0": "0.0.0.0", "127.0.0.2": "127.0.0.2", "0:0:0:0:0:0:0:0": "::"} {
		got, err := readOnly(t, map[string]string{"LISTEN_ADDRESS": set})
		if err != nil || got.ListenAddress != want {
			t.Errorf("%q listens to %s, %v", set, got.ListenAddress, err)
		}
	}
}
