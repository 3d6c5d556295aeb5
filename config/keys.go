package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Keys are the API keys, by their SHA-256 sums. The keys themselves are not kept, so that nothing can print them.
type Keys map[[sha256.Size]byte]Key

// Key is what a file says about a key.
type Key struct {
	Name  string    // for the log and the metrics; "" if it has none
	Until time.Time // the end of its last day, UTC; zero if it has none
	Full  bool      // a key of API_KEY has full access
	Proxy bool      // a key of PROXY_KEY gives no access; one that is neither is of API_READ_KEY, and can only read
}

// Ended reports whether the last day of a key is over.
func (k Key) Ended(now time.Time) bool { return !k.Until.IsZero() && !now.Before(k.Until) }

// keySettings are the settings that have keys, and what each makes of its keys.
var keySettings = []struct {
	name string
	key  Key
}{{"API_KEY", Key{Full: true}}, {"API_READ_KEY", Key{}}, {"PROXY_KEY", Key{Proxy: true}}}

// readKeys returns the keys of all settings, or an error that names the variable and never a key.
func readKeys() (Keys, error) {
	keys, read, canWrite := Keys{}, "", false
	for _, setting := range keySettings {
		text, variable, err := readSecret(setting.name)
		if err == nil {
			err = keys.add(text, variable, setting.key)
		}
		if err != nil {
			return nil, err
		}
		if setting.key == (Key{}) {
			read = variable
		} else if variable != "" {
			canWrite = true
		}
	}
	if read != "" && !canWrite {
		return nil, fmt.Errorf("%s is set without API_KEY: no client could write; set API_KEY or API_KEY_FILE too, or PROXY_KEY", read)
	}
	return keys, nil
}

// add adds the keys of a variable, one per line. Lines may end in CRLF, and may be blank. A variable that is set but
// empty is an error, and not unset as others: a secret that failed to arrive must not leave the API open.
func (k Keys) add(text, variable string, is Key) error {
	before, number := len(k), 0
	for line := range strings.Lines(text) {
		number++
		isBlank := func(char rune) bool { return char == ' ' || char == '\t' }
		words := strings.FieldsFunc(strings.TrimRight(line, "\r\n"), isBlank)
		if comment := slices.IndexFunc(words, func(word string) bool { return word[0] == '#' }); comment >= 0 {
			words = words[:comment] // it begins with its word: a key may contain a #
		}
		if len(words) == 0 {
			continue
		}
		sum, key, err := parseKey(words)
		if _, repeated := k[sum]; err == nil && repeated {
			err = errors.New("a key that is already listed: list it once, in API_KEY, in API_READ_KEY or in PROXY_KEY")
		}
		if err != nil {
			return fmt.Errorf("line %d of %s has %w", number, variable, err)
		}
		key.Full, key.Proxy = is.Full, is.Proxy
		k[sum] = key
	}
	if variable != "" && len(k) == before {
		return fmt.Errorf("%s is set and has no key: unset it for access without a key, or give it one; "+
			"`users-api key` prints one", variable)
	}
	return nil
}

const (
	keyRule  = "a key has at least 16 printable ASCII characters and no spaces; `users-api key` prints one"
	lineRule = "; a line is KEY, NAME KEY or NAME KEY YYYY-MM-DD"

	sumPrefix = "sha256:" // begins a key that is written as its SHA-256 sum
)

// keyName matches names. They are logged: being shorter than what `users-api key` prints, a name cannot be such a key.
var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,23}$`)

// CheckKeyName returns an error if a key cannot have this name. The error does not quote it.
func CheckKeyName(name string) error {
	if keyName.MatchString(name) {
		return nil
	}
	return errors.New("a name that a key cannot have: names have up to 24 letters, digits, dots, hyphens and " +
		"underscores, and begin with a letter or digit")
}

// parseKey returns the key of a line, or an error that says what is wrong and does not quote the line.
func parseKey(words []string) (sum [sha256.Size]byte, key Key, err error) {
	text := words[0]
	if len(words) > 1 {
		key.Name, text = words[0], words[1]
		if err := CheckKeyName(key.Name); err != nil {
			return sum, key, fmt.Errorf("%w%s", err, lineRule)
		}
	}
	if len(words) > 2 {
		lastDay, err := time.Parse(time.DateOnly, words[2])
		if err != nil || len(words) > 3 {
			return sum, key, errors.New("something else than a date after a key" + lineRule)
		}
		key.Until = lastDay.AddDate(0, 0, 1)
	}
	sum, err = sumOf(text)
	return sum, key, err
}

// wrapped matches what a file of settings has around a key, and no client sends.
var wrapped = regexp.MustCompile(`^(".*"|'.*'|(API|API_READ|PROXY)_KEY=.*)$`)

// sumOf returns the sum of a key, which may be written as its sum.
func sumOf(key string) (sum [sha256.Size]byte, err error) {
	if wrapped.MatchString(key) {
		return sum, errors.New("a key in quotation marks, or behind the name of its setting and =: write the key alone")
	}
	if prefix := len(sumPrefix); len(key) >= prefix && strings.EqualFold(key[:prefix], sumPrefix) {
		digits, err := hex.DecodeString(key[prefix:])
		if err != nil || len(digits) != sha256.Size {
			return sum, errors.New("a key that begins with " + sumPrefix + " and does not go on with 64 hexadecimal " +
				"digits")
		}
		return [sha256.Size]byte(digits), nil
	}
	if strings.ContainsFunc(key, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return sum, errors.New("a key with a character that keys cannot have: " + keyRule)
	}
	if len(key) < 16 {
		return sum, errors.New("a key that is too short: " + keyRule + lineRule)
	}
	return sha256.Sum256([]byte(key)), nil
}

// KeyLine returns the line of a file of keys for a key with a name, which does not contain the key.
func KeyLine(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	return name + " " + sumPrefix + hex.EncodeToString(sum[:])
}

// Keyring holds the keys of the moment: files of keys may be read again while the service runs.
type Keyring struct{ keys atomic.Pointer[Keys] }

// ReadKeys returns the keys, nil if none is set, or an error that names the variable and never a key. The keys are not
// part of [Config]: that may be printed, and `users-api healthcheck` reads it and needs no key.
func ReadKeys() (*Keyring, error) {
	keys, err := readKeys()
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	ring := &Keyring{}
	ring.keys.Store(&keys)
	return ring, nil
}

// Find returns the key that a client has sent, if there is one. A lookup takes as long with 1,000 keys as with one, but
// its time is not constant. That reveals nothing about a key: the map compares SHA-256 sums, and a client cannot choose
// what it sends so that its sum comes closer to that of a key.
func (r *Keyring) Find(sent string) (key Key, found bool) {
	key, found = (*r.keys.Load())[sha256.Sum256([]byte(sent))]
	return key, found
}

// Count says for the log how many keys there are of each kind, and returns the names of those whose last day is over. A
// nil keyring has none.
func (r *Keyring) Count() (counts []any, ended []string) {
	full, read, proxies, keys := 0, 0, 0, Keys{}
	if r != nil {
		keys = *r.keys.Load()
	}
	for _, key := range keys {
		switch {
		case key.Full:
			full++
		case key.Proxy:
			proxies++
		default:
			read++
		}
		if key.Ended(time.Now()) {
			ended = append(ended, key.Name)
		}
	}
	slices.Sort(ended)
	counts = []any{"keys", full, "read_keys", read}
	if proxies > 0 {
		counts = append(counts, "proxy_keys", proxies)
	}
	return counts, ended
}

// Reread reads the files again, and reports whether any is set. If one cannot be used, all keys stay as they were.
func (r *Keyring) Reread() (isSet bool, err error) {
	for _, setting := range keySettings {
		isSet = isSet || isInFile(setting.name)
	}
	if !isSet {
		return false, nil
	}
	keys, err := readKeys()
	if err == nil {
		r.keys.Store(&keys)
	}
	return true, err
}
