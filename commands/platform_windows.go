package commands

import (
	"errors"
	"path/filepath"
	"strings"
)

// setUser is not supported on Windows, where no process is root.
func setUser(int) error { return errors.ErrUnsupported }

func sameDisk(a, b string) bool {
	return strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}
