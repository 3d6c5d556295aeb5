package commands

import "errors"

// setUser is not supported on Windows, where no process is root.
func setUser(int) error { return errors.ErrUnsupported }
