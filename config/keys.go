package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Keys are the SHA-256 sums of the API keys. The keys themselves are not kept, so that nothing can print them. Without
// any key, the API is open.
type Keys struct {
	Full [][sha256.Size]byte // of API_KEY, which gives full access
	Read [][sha256.Size]byte // of API_READ_KEY, which gives read-only access
}

// ReadKeys returns the keys, or an error that names the variable and never a key. The keys are not part of [Config]:
// that may be printed, and `users-api healthcheck` reads it and needs no key.
//
// A variable that is set but empty is an error, although other settings treat it as unset: a secret that failed to
// arrive must not leave the API open.
func ReadKeys() (Keys, error) {
	full, fullErr := readSecret("API_KEY")
	read, readErr := readSecret("API_READ_KEY")
	if err := cmp.Or(fullErr, readErr); err != nil {
		return Keys{}, err
	}
	fullSums, fullErr := full.sums()
	readSums, readErr := read.sums()
	if err := cmp.Or(fullErr, readErr); err != nil {
		return Keys{}, err
	}
	if readSums != nil && fullSums == nil {
		return Keys{}, fmt.Errorf("%s is set without API_KEY: no client could write; set API_KEY or API_KEY_FILE too",
			read.variable)
	}
	isFull := func(sum [sha256.Size]byte) bool { return slices.Contains(fullSums, sum) }
	if slices.ContainsFunc(readSums, isFull) {
		return Keys{}, fmt.Errorf("%s and %s have a key in common: a key may either write or only read",
			full.variable, read.variable)
	}
	return Keys{fullSums, readSums}, nil
}

// secret is the text of a variable, or of the file named by the variable with the suffix _FILE (Docker secrets).
type secret struct {
	variable string // the one that is set; "" if neither is
	text     string
}

// readSecret reads a variable in either form. The error does not contain the path of the file: the secret itself may
// have been put there by mistake.
func readSecret(name string) (secret, error) {
	text, set := os.LookupEnv(name)
	path, inFile := os.LookupEnv(name + "_FILE")
	switch {
	case set && inFile:
		return secret{}, fmt.Errorf("%[1]s and %[1]s_FILE are both set: unset one of them", name)
	case set:
		return secret{name, text}, nil
	case !inFile:
		return secret{}, nil
	}
	text, err := readFile(path)
	if err != nil {
		return secret{}, fmt.Errorf("the file that %s_FILE names cannot be read: %w", name, err)
	}
	return secret{name + "_FILE", text}, nil
}

// readFile returns the text of a small file. The error does not contain the path.
func readFile(path string) (string, error) {
	const most = 64 << 10
	var text []byte
	file, err := os.Open(path)
	if err == nil {
		defer file.Close() //nolint:errcheck // it was only read
		text, err = io.ReadAll(io.LimitReader(file, most+1))
	}
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return "", failure.Err
	}
	if len(text) > most {
		err = errors.New("it is larger than 64 KiB")
	}
	return string(text), err
}

// sums returns the sums of the keys in a secret, one key per line. Lines may end in CRLF, and may be blank.
func (s secret) sums() (sums [][sha256.Size]byte, err error) {
	if s.variable == "" {
		return nil, nil
	}
	for line := range bytes.Lines([]byte(s.text)) {
		key := bytes.TrimRight(line, "\r\n")
		if len(key) == 0 {
			continue
		}
		if err := checkKey(string(key)); err != nil {
			return nil, fmt.Errorf("%s has %w", s.variable, err)
		}
		sums = append(sums, sha256.Sum256(key))
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("%s is set and has no key: unset it for access without a key, or give it one; `users-api key` prints one",
			s.variable)
	}
	return sums, nil
}

// checkKey reports what is wrong with a key, without quoting the key.
func checkKey(key string) error {
	const rule = "a key has at least 16 printable ASCII characters and no spaces; `users-api key` prints one"
	if strings.ContainsFunc(key, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return errors.New("a key with a space or another character that keys cannot have: " + rule)
	}
	if len(key) < 16 {
		return errors.New("a key that is too short: " + rule)
	}
	return nil
}
