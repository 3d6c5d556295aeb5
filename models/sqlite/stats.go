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

func (n named) size() int64 {
	info, err := os.Stat(n.path)
	if err != nil {
		return 0
	}
	return info.Size()
}
