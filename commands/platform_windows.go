package commands

import (
	"errors"
	"path/filepath"
	"strings"
)

// setUser is not for Windows, where no process is root.
func setUser(int) error { return errors.ErrUnsupported }

// sameDisk reports whether two paths are on one drive.
func sameDisk(a, b string) bool {
	return strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}
