package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"users-api/models/sqlite/backup"
)

func newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Make a checked copy of the database, while the service runs or not",
		Long: `Makes a copy of the database in DATA_DIR, while the service runs or not, and checks it. The copy holds
every user that was stored before it began. FILE must not exist yet; it appears once it is whole and on
disk. With - the copy goes to the standard output, through a file in DATA_DIR that needs as much room.

  users-api backup /mnt/backups/users.db
  docker compose exec -T users-api /app/users-api backup - > users.db`,
		Args: oneFile,
		RunE: func(command *cobra.Command, arguments []string) error { return backUp(command.Context(), arguments[0]) },
	}
}

// databaseFile returns the path of the database, which must be a file, and becomes the user that serves it.
func databaseFile() (string, error) {
	_, database, err := databaseForCommand()
	if err == nil && database.url != "" {
		err = errNoBackups
	}
	return database.path, err
}

func backUp(ctx context.Context, target string) error {
	if target == "-" && term.IsTerminal(int(os.Stdout.Fd())) {
		return errors.New("a backup is no text for a terminal: send it to a file, as in `users-api backup - > users.db`")
	}
	database, err := databaseFile()
	if err != nil {
		return err
	}
	began, progress := time.Now(), showProgress("backing up", true)
	var made backup.Copy
	if target == "-" {
		made, err = backup.Write(ctx, database, os.Stdout, progress)
	} else {
		made, err = backup.Make(ctx, database, target, progress)
	}
	if err != nil {
		return err
	}
	report("backed up", made, began, "")
	return nil
}

// report prints one line about what was done. It prints to stderr, because stdout may be the backup.
func report(done string, made backup.Copy, began time.Time, more string) {
	seconds := time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%s: %d users, %d bytes, %.1f seconds%s\n", done, made.Users, made.Bytes, seconds, more)
}
