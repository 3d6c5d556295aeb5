package sqlite

import (
	"os"

	"users-api/models"
)

// Stats returns the metrics of the storage.
func (u *Users) Stats() models.Stats {
	stats := models.Stats{
		DatabaseBytes: u.writer.files.database.size(),
		WALBytes:      u.writer.files.wal.size(),
	}
	u.cache.Fill(&stats)
	u.writer.commits.Fill(&stats)
	return stats
}

// size returns the current size of the file, or 0 if there is none.
func (n named) size() int64 {
	info, err := os.Stat(n.path)
	if err != nil {
		return 0
	}
	return info.Size()
}
