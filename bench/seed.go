package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/glebarez/go-sqlite"
)

// seeds makes databases of any number of users, each once, and hands out copies.
type seeds struct {
	dir    string // everything is below it, and goes with it
	copies int
}

// copyOf returns a new data directory in which a server finds so many users. The caller removes it.
func (s *seeds) copyOf(ctx context.Context, server *server, users int) (string, error) {
	template, err := s.template(ctx, server, users)
	if err != nil {
		return "", fmt.Errorf("cannot make a database of %d users for %s: %w", users, server.name, err)
	}
	s.copies++
	data := filepath.Join(s.dir, fmt.Sprintf("data-%d", s.copies))
	return data, copyDir(data, template)
}

// seedEmail returns the email of the user of a number, as emailOf and load/report.lua have it.
func seedEmail(number int) string {
	return fmt.Sprintf("%08x.seed@example.com", uint32(number*2654435761))
}

// template returns the directory that holds the original. The server itself makes the table in it.
func (s *seeds) template(ctx context.Context, server *server, users int) (string, error) {
	dir := filepath.Join(s.dir, fmt.Sprintf("%s, %d users", strings.ReplaceAll(server.name, "/", " "), users))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if server.database == "" {
		return dir, nil
	}
	process, err := start(ctx, server, dir)
	if err != nil {
		return "", err
	}
	process.stop()
	return dir, fill(ctx, filepath.Join(dir, server.database), server.seed, users)
}

// fill adds users straight to the file, without a journal: nothing is lost when it fails. The server chooses its own
// journal again when it opens the file.
func fill(ctx context.Context, path, seed string, users int) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1) // a pragma reaches one connection
	statements := []string{"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
		"PRAGMA cache_size = -400000"}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if users > 0 {
		if _, err := db.ExecContext(ctx, seed, users); err != nil {
			return err
		}
	}
	return db.Close()
}

// copyDir copies the files in a directory, and flushes them: the disk is not to be busy with them under load.
func copyDir(to, from string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		if err := copyFile(filepath.Join(to, entry.Name()), filepath.Join(from, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it was only read
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	if err := target.Sync(); err != nil {
		return err
	}
	return target.Close()
}
