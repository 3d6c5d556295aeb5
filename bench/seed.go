package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	_ "github.com/glebarez/go-sqlite" // the engine that fills databases
)

// database returns a new data directory in which a server finds so many users: a copy of one that is made when it is
// asked for first. The server itself makes the table in that.
func database(ctx context.Context, dir string, s *server, users int) (string, error) {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil || s.IsLimit() {
		return data, err
	}
	original := filepath.Join(dir, fmt.Sprintf("%s, %d users", s.Name, users))
	if _, err := os.Stat(original); err == nil {
		err = os.CopyFS(data, os.DirFS(original))
		syscall.Sync() // the disk is not to be busy with the copy under load
		return data, err
	}
	process, err := start(ctx, s, data)
	if err != nil {
		return data, err
	}
	process.stop()
	if err := fill(ctx, filepath.Join(data, s.database), s.seed, users); err != nil {
		return data, fmt.Errorf("cannot make a database of %d users: %w", users, err)
	}
	if err := os.Rename(data, original); err != nil {
		return data, err
	}
	return database(ctx, dir, s, users)
}

// fill adds users straight to the file, without a journal: nothing is lost when it fails. The server chooses its own
// journal again when it opens the file.
func fill(ctx context.Context, path, seed string, users int) error {
	db, err := sql.Open("sqlite", path)
	if err != nil || users == 0 {
		return err
	}
	defer db.Close()      //nolint:errcheck // every statement was checked
	db.SetMaxOpenConns(1) // a pragma reaches one connection
	const pragmas = "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; " +
		"PRAGMA cache_size = -100000"
	if _, err := db.ExecContext(ctx, pragmas); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, seed, users)
	return err
}
