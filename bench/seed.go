package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// database returns a new data directory in which a server finds that many users: a copy of one that is made when it is
// asked for first. The server itself makes the table in that.
func database(ctx context.Context, dir string, s *server, users int) (string, error) {
	data, err := os.MkdirTemp(dir, "data-")
	if err != nil || s.Seed == "" {
		return data, err
	}
	original := filepath.Join(dir, fmt.Sprintf("%s, %d users", s.Database, users))
	if _, err := os.Stat(original); err == nil {
		err = s.run(ctx, dir, `cp -a "$ORIGINAL/." "$DATA_DIR"`, "ORIGINAL="+original, "DATA_DIR="+data)
		syscall.Sync() // the disk is not to be busy with the copy under load
		return data, err
	}
	process, err := launch(ctx, s, data)
	if err != nil {
		return data, err
	}
	process.stop()
	if err := s.fill(ctx, data, users); err != nil {
		return data, fmt.Errorf("cannot make a database of %d users: %w", users, err)
	}
	if err := os.Rename(data, original); err != nil {
		return data, err
	}
	return database(ctx, dir, s, users)
}

// fill adds users, if any, straight to the database, without the server, and does what else the server's seed does.
func (s *server) fill(ctx context.Context, data string, users int) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	defer awaitDatabase(data)
	return s.run(ctx, absolute(), s.Seed, "DATA_DIR="+data, "PORT="+port, fmt.Sprintf("USERS=%d", users))
}
