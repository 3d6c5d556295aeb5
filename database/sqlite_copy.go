package database

import (
	"context"
	"os"
	"path/filepath"

	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

// trying makes a copy of the whole file beside it: VACUUM INTO reads one moment, and holds up no write. A copy in memory, or
// of the table alone, would take memory in proportion to the users.
func (s *sqlitePool) trying(ctx context.Context, run func(tx *gorm.DB) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ended, func() { cancel(models.ErrClosed) })()
	directory, name := filepath.Split(s.path)
	size, wal, _ := s.measure(ctx)
	if free, err := freeBytes(directory); err == nil && free < 2*(size+wal) {
		return models.ErrNoRoom
	}
	folder, err := os.MkdirTemp(directory, name+spoolName)
	if err != nil {
		return tempFileError(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the next start tries again
	copied := filepath.Join(folder, name)
	if err = s.readers.WithContext(ctx).Exec("VACUUM INTO ?", copied).Error; err == nil {
		err = onCopy(copied, s.fields, func(tx *gorm.DB) error { return run(tx.WithContext(ctx)) })
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// onCopy calls run in a transaction on a copy, which need not survive anything.
func onCopy(path string, fields models.Fields, run func(tx *gorm.DB) error) error {
	db, err := openPool(path, fields, 1, []string{"synchronous(OFF)", "temp_store(MEMORY)"})
	if err != nil {
		return err
	}
	defer dbfile.Close(db)
	if err := db.Exec(largeCache).Error; err != nil {
		return err
	}
	return db.Transaction(run)
}
