package commands

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"users-api/database"
	"users-api/database/backup"
)

func newBackup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE|-",
		Short: "Make a checked copy of the database, whether the service runs or not",
		Long: `Makes a copy of the database in DATA_DIR, whether the service runs or not, and checks it. The copy holds
every user that was stored before it began. FILE must not exist yet: the copy gets this name once it is
complete and on disk. With - the copy goes to the standard output, through a file in DATA_DIR that needs
as much room.

  users-api backup /mnt/backups/users-backup.db
  users-api backup - >users-backup.db.new && mv users-backup.db.new users-backup.db`,
		Args: cobra.ExactArgs(1),
		RunE: backUp,
	}
}

func backUp(command *cobra.Command, arguments []string) error {
	isOutput := arguments[0] == "-"
	if isOutput && term.IsTerminal(int(os.Stdout.Fd())) {
		return errors.New("a backup is no text for a terminal: name a file, as in `users-api backup users-backup.db`")
	}
	target, err := filepath.Abs(arguments[0])
	if err != nil {
		return err
	}
	location, err := databaseInFile()
	if err != nil {
		return err
	}
	began := time.Now()
	var made backup.Copy
	if isOutput {
		fmt.Fprintf(os.Stderr, "backing up %s to the standard output\n", location)
		made, err = backup.Write(command.Context(), location.Path, os.Stdout)
	} else {
		fmt.Fprintf(os.Stderr, "backing up %s to %s\n", location, target)
		made, err = backup.Make(command.Context(), location.Path, target)
	}
	if err == nil {
		report("backed up", made, began)
	}
	return err
}

// databaseInFile returns the database, which must be a file, after switching the process to the service's user.
func databaseInFile() (database.Location, error) {
	location, err := databaseForCommand()
	if err == nil && location.URL != "" {
		err = errNoBackups
	}
	return location, err
}

// report prints one line about what was done. It prints to stderr, because stdout may be the backup.
func report(done string, made backup.Copy, began time.Time) {
	kept, seconds := "", time.Since(began).Seconds()
	if made.Kept != "" {
		kept = "; the old database is " + made.Kept
	}
	fmt.Fprintf(os.Stderr, "%s: %s, %d bytes, %.1f seconds%s\n", done, users(made.Users), made.Bytes, seconds, kept)
}

func users(n int64) string {
	if n == 1 {
		return "1 user"
	}
	return fmt.Sprint(n, " users")
}

func newRestore() *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE|-",
		Short: "Put a backup in the place of the database, while the service is stopped",
		Long: `Checks a backup, every page and every user of it, and puts it in the place of the database in DATA_DIR.
With - the backup is read from the standard input. Stop the service first: nothing is changed while any
process has the database open.

The old database is kept beside the new one as users.db.replaced- and the time. Delete it when you no
longer need it.

  users-api restore /mnt/backups/users-backup.db

With compose:

  docker compose stop users-api &&
  docker compose run --rm -T users-api restore - <users-backup.db &&
  docker compose start users-api`,
		Args: cobra.ExactArgs(1),
		RunE: restore,
	}
}

func restore(command *cobra.Command, arguments []string) error {
	location, err := databaseInFile()
	if err != nil {
		return err
	}
	source, from, shown := arguments[0], os.Stdin, "the standard input"
	if source != "-" {
		if shown, err = filepath.Abs(source); err != nil {
			return err
		}
		if from, err = os.Open(shown); err != nil {
			return fmt.Errorf("cannot read the backup: %w", err)
		}
		defer from.Close() //nolint:errcheck // it was only read
	}
	began := time.Now()
	fmt.Fprintf(os.Stderr, "restoring %s to %s\n", shown, location)
	restored, err := backup.Restore(command.Context(), location.Path, from)
	if err == nil {
		report("restored", restored, began)
	}
	return err
}
