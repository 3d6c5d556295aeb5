package sqlite

import (
	"fmt"
	"os"
)

// writable returns nil if this process may write to path. For a directory, Windows tells only when something is
// written.
func writable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot look at the database: %w", err)
	}
	if info.IsDir() {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be written (%w): allow it, or set DATA_DIR to another directory", path, err)
	}
	return file.Close()
}
