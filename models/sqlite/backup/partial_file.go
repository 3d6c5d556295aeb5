package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"users-api/models/sqlite/dbfile"
)

// While a file is written, its name is its final name with a number and ".partial" appended. It gets the final name
// once it is complete and on disk, so any file with a final name is complete.
var partialEnding = regexp.MustCompile(`^\.\d+\.partial$`)

// abandoned is how long a partial file must be untouched to count as left by a killed process: a live one writes often.
const abandoned = 24 * time.Hour

// newPartial creates an empty file beside target, for this user alone, and removes those that killed processes left.
func newPartial(target string) (path string, err error) {
	RemoveAbandoned(filepath.Dir(target), func(name string) bool {
		ending, ours := strings.CutPrefix(name, filepath.Base(target))
		return ours && partialEnding.MatchString(ending)
	})
	file, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*.partial")
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// RemoveAbandoned removes the files of a directory whose names are ours and that were not written for a day.
func RemoveAbandoned(directory string, ours func(name string) bool) {
	entries, _ := os.ReadDir(directory) // the next use of the directory reports what is wrong with it
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && ours(entry.Name()) && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}

// place gives a partial file, which is on disk, the name target. It never replaces a file.
func place(partial, target string) error {
	err := os.Link(partial, target)
	if err == nil {
		return errors.Join(os.Remove(partial), dbfile.SyncName(target))
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already, and is left as it is", target)
	}
	// Some file systems, such as those of USB sticks, have no links: there, a new file takes the name and is then
	// replaced.
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Rename(partial, target), dbfile.SyncName(target))
}
