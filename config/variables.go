package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/viper"
)

type variables struct {
	*viper.Viper
	mistake error // the first
}

// Setting is a variable of the environment that the program reads, as the help shows it.
type Setting struct{ Name, Default, Meaning string }

// Settings are all of them. The meaning of one that has no default says what holds without it.
func Settings() []Setting {
	return []Setting{
		{"PORT", "3000", "the port to listen on; 0 lets the system choose"},
		{"LISTEN_ADDRESS", "", "the one address to listen on (every address)"},
		{"PUBLISH", "", "where docker-compose.yml publishes PORT; nothing else reads it (127.0.0.1:PORT)"},
		{"ALLOWED_HOSTS", "", "the host names that the service answers for, separated by commas (any)"},
		{"API_KEY", "", "require this key; API_KEY_FILE names a file with one per line (none: full access for anyone)"},
		{"API_READ_KEY", "", "a key that can only read; API_READ_KEY_FILE names a file with one per line (none)"},
		{"PROXY_KEY", "",
			"a key of a proxy that names the people who sign in; PROXY_KEY_FILE names a file with one per line (none)"},
		{"PERSON_HEADER", "Remote-User", "the header in which that proxy sends who the person is"},
		{"PERSON_GROUPS_HEADER", "Remote-Groups", "the header in which it sends the person's groups"},
		{"PERSON_WRITERS", "", "who of them may write, such as group:editors,ada (everyone whom the proxy lets in)"},
		{"ADMIN_PORT", "", "a port for metrics, probes and profiles; do not publish it (none)"},
		{"DATA_DIR", "data", "the directory of users.db"},
		{"DATABASE_URL", "",
			"keep users in this PostgreSQL database instead; DATABASE_URL_FILE names a file with it (none)"},
		{"USER_FIELDS", "",
			"serve these columns of users, separated by commas, as fields besides name and email (none)"},
		{"CHANGES_KEEP", "720h", "how long the feed of changes keeps an entry, where changes are recorded"},
		{"LIST_MEMORY_MIB", "32", "the list of users is cached in memory up to this size"},
		{"IMPORT_MAX_MIB", "512", "the largest file that can be imported"},
		{"BACKUP_EVERY", "", "make a backup this often while serving, such as 24h (none)"},
		{"BACKUP_KEEP", "7", "how many of these backups to keep"},
		{"BACKUP_DIR", "", "their directory, for this service alone (backups in DATA_DIR)"},
		{"LOG_FORMAT", "text", "text or json"},
		{"LOG_LEVEL", "info", "debug, info, warn or error"},
		{"NODE_ENV", "", "logged at startup, no other effect"},
		{"RUN_AS", "0", "the uid and gid to switch to when started as root, 0 stays root; the container image sets it"},
	}
}

// Misspelt returns the variables that are set and nearly have the name of a setting, each with that setting. What is
// like a name of at most six letters is likely to be a variable of another program. PUID is what other images call RUN_AS.
func Misspelt() map[string]string {
	var settings []string
	for _, setting := range Settings() {
		settings = append(settings, setting.Name)
	}
	for _, secret := range []string{"API_KEY", "API_READ_KEY", "PROXY_KEY", "DATABASE_URL"} {
		settings = append(settings, secret+"_FILE")
	}
	misspelt := map[string]string{}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, setting := range settings {
			if len(setting) > len("RUN_AS") && isSlip(name, setting) || name == "PUID" && setting == "RUN_AS" {
				misspelt[name] = setting
			}
		}
	}
	return misspelt
}

// isSlip reports whether two texts differ in one letter that is wrong, missing or too many, or in two that are swapped.
func isSlip(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b)) == 1 || len(a) == 2 && a[1:]+a[:1] == b
}

func (v *variables) refuse(name, problem string) {
	if v.mistake == nil {
		v.mistake = fmt.Errorf("%s is %q%s", name, v.GetString(name), problem)
	}
}

func (v *variables) number(name string, least uint16) uint16 {
	number, err := strconv.ParseUint(v.GetString(name), 10, 16)
	if err != nil || uint16(number) < least {
		v.refuse(name, fmt.Sprintf(": it must be a whole number from %d to 65535", least))
	}
	return uint16(number)
}

func (v *variables) duration(name string, least time.Duration, examples string) time.Duration {
	duration, err := time.ParseDuration(v.GetString(name))
	if err != nil || duration < least {
		v.refuse(name, fmt.Sprintf(": it must be a time of at least %s, such as %s", short(least), examples))
	}
	return duration
}

// short writes a time without the parts that are zero: 1h, not 1h0m0s.
func short(duration time.Duration) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(duration.String())
}

func (v *variables) mebibytes(name string) (bytes int64) { return int64(v.number(name, 0)) << 20 }

func (v *variables) absolutePath(name string) string {
	path, err := filepath.Abs(v.GetString(name))
	if err != nil {
		v.refuse(name, fmt.Sprintf(" and cannot be made absolute: %v", err))
	}
	return path
}

// list returns what stands between commas, without the spaces around it.
func (v *variables) list(name string) (parts []string) {
	if v.GetString(name) == "" {
		return nil
	}
	for part := range strings.SplitSeq(v.GetString(name), ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// oneOf returns one of a few words, in lower case, or the first for anything else.
func (v *variables) oneOf(name string, words ...string) string {
	word, last := strings.ToLower(v.GetString(name)), len(words)-1
	if !slices.Contains(words, word) {
		v.refuse(name, ": it must be "+strings.Join(words[:last], ", ")+" or "+words[last])
		return words[0]
	}
	return word
}

func (v *variables) listenAddress() string {
	value := v.GetString("LISTEN_ADDRESS")
	if value == "" {
		return ""
	}
	address, err := netip.ParseAddr(value)
	if err != nil {
		v.refuse("LISTEN_ADDRESS",
			": it must be an IP address of this machine without a port, such as 127.0.0.1 or ::1")
	}
	return address.String()
}

// hostName matches a name as browsers write it in Host: letters beyond ASCII are encoded as xn--.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

// allowedHosts returns names and IP addresses in lower case, without brackets.
func (v *variables) allowedHosts() (hosts []string) {
	for _, host := range v.list("ALLOWED_HOSTS") {
		host = strings.Trim(strings.ToLower(host), "[]")
		if address, err := netip.ParseAddr(host); err == nil {
			host = address.String()
		} else if host = strings.TrimSuffix(host, "."); !hostName.MatchString(host) {
			v.refuse("ALLOWED_HOSTS", ": it must be host names or IP addresses with a comma between, "+
				"without ports, such as users.example.org,localhost")
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// Backups configures the backups that the service makes by itself.
type Backups struct {
	Every time.Duration // BACKUP_EVERY, the time from one backup to the next; 0 makes none
	Keep  int           // BACKUP_KEEP, how many backups are kept; older ones are deleted
	Dir   string        // BACKUP_DIR as an absolute path; if unset, backups in the data directory
}

func (b Backups) String() string {
	if b.Every == 0 {
		return "off"
	}
	return short(b.Every)
}

func (v *variables) backups(dataDir string) Backups {
	v.SetDefault("BACKUP_DIR", filepath.Join(dataDir, "backups"))
	backups := Backups{Keep: int(v.number("BACKUP_KEEP", 1)), Dir: v.absolutePath("BACKUP_DIR")}
	if v.GetString("BACKUP_EVERY") != "" {
		backups.Every = v.duration("BACKUP_EVERY", time.Minute, "24h or 90m") // one of 1,000,000 users takes seconds
	}
	return backups
}
