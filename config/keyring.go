package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Keyring holds the keys of the moment: files of keys may change while the service runs.
type Keyring struct {
	keys atomic.Pointer[Keys]
	// used and latest are the sums of the texts that Reread took the keys from, and of those that it read last.
	used, latest [sha256.Size]byte
}

// NewKeyring returns a keyring with keys.
func NewKeyring(keys Keys) *Keyring {
	ring := &Keyring{}
	ring.keys.Store(&keys)
	return ring
}

// ReadKeys returns the keys, nil if none is set, or an error that names the variable and never a key. The keys are not
// part of [Config]: that may be printed, and `users-api healthcheck` reads it and needs no key.
func ReadKeys() (*Keyring, error) {
	read := readSources()
	keys, err := read.keys()
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	ring := NewKeyring(keys)
	ring.used = read.sum()
	ring.latest = ring.used
	return ring, nil
}

// Find returns the key that a client has sent, if there is one at the moment.
func (r *Keyring) Find(sent string) (key Key, found bool) { return r.keys.Load().Find(sent) }

// Reread reads the files again. If they have changed, it takes the new keys and returns them, or an error if they cannot
// be used, and then the keys stay as they were. A file may be read while it is being written, so a change counts once
// two calls have seen the same. Reread must not be called by two goroutines at once.
func (r *Keyring) Reread() (Keys, error) {
	read := readSources()
	before := r.latest
	r.latest = read.sum()
	if r.latest != before || r.latest == r.used {
		return nil, nil
	}
	r.used = r.latest
	keys, err := read.keys()
	if err == nil {
		r.keys.Store(&keys)
	}
	return keys, err
}

// sum tells whether anything has changed, without keeping the keys.
func (s sources) sum() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%v", s.full.text, s.read.text, s.err))
}

// KeysInFiles reports whether keys come from files, and returns why the service cannot reread one of them.
func KeysInFiles() (inFiles bool, err error) {
	for _, name := range []string{"API_KEY", "API_READ_KEY"} {
		path, set := os.LookupEnv(name + "_FILE")
		if !set {
			continue
		}
		inFiles = true
		if failure := canReread(path); failure != nil {
			err = fmt.Errorf("the file that %s_FILE names: %w", name, failure)
		}
	}
	return inFiles, err
}

func canReread(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return withoutPath(err)
	}
	if !info.Mode().IsRegular() { // a pipe has its text only once
		return errors.New("not a regular file")
	}
	_, err = readFile(path)
	return err
}
