package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"users-api/config"
	"users-api/models"
	"users-api/models/sqlite"
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
		RunE: func(command *cobra.Command, arguments []string) error { return backup(command.Context(), arguments[0]) },
	}
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

  users-api restore /mnt/backups/users.db
  docker compose stop users-api
  docker compose run --rm -T users-api restore - < users.db
  docker compose start users-api`,
		Args: oneFile,
		RunE: func(command *cobra.Command, arguments []string) error {
			return restore(command.Context(), arguments[0])
		},
	}
}

// databaseForCommand returns the path of the database, and becomes the user that serves it.
func databaseForCommand() (string, error) {
	settings, err := config.Read()
	if err != nil {
		return "", err
	}
	database, err := findDatabase(settings)
	if err == nil && database.url != "" {
		err = errNoBackups
	}
	if err != nil {
		return "", err
	}
	return database.path, becomeUser(settings, database)
}

func backup(ctx context.Context, target string) error {
	if target == "-" && term.IsTerminal(int(os.Stdout.Fd())) {
		return errors.New("a backup is no text for a terminal: send it to a file, as in `users-api backup - > users.db`")
	}
	database, err := databaseForCommand()
	if err != nil {
		return err
	}
	began, progress := time.Now(), showProgress("backing up", true)
	var made sqlite.Copy
	if target == "-" {
		made, err = sqlite.BackupTo(ctx, database, os.Stdout, progress)
	} else {
		made, err = sqlite.Backup(ctx, database, target, progress)
	}
	if err != nil {
		return err
	}
	report("backed up", made, began, "")
	return nil
}

func restore(ctx context.Context, source string) error {
	database, err := databaseForCommand()
	if err != nil {
		return err
	}
	from := os.Stdin
	if source != "-" {
		if from, err = os.Open(source); err != nil {
			return fmt.Errorf("cannot read the backup: %w", err)
		}
		defer from.Close() //nolint:errcheck // it was only read
	}
	began := time.Now()
	restored, err := sqlite.Restore(ctx, database, models.NewFields(), from, showProgress("restoring", true))
	if err != nil {
		return err
	}
	kept := ""
	if restored.Kept != "" {
		kept = "; the old database is " + restored.Kept
	}
	report("restored", restored.Copy, began, kept)
	return nil
}

// report prints one line about what was done. It prints to stderr, because stdout may be the backup.
func report(done string, made sqlite.Copy, began time.Time, more string) {
	seconds := time.Since(began).Seconds()
	fmt.Fprintf(os.Stderr, "%s: %d users, %d bytes, %.1f seconds%s\n", done, made.Users, made.Bytes, seconds, more)
}

// showProgress returns a function that draws a progress bar, or nil if stderr is not a terminal.
func showProgress(what string, inBytes bool) sqlite.Progress {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int64) {
		if bar == nil {
			bar = newBar(what, total, inBytes)
		}
		_ = bar.Set64(done) // failing to draw the bar is harmless
		if done == total {
			_ = bar.Finish()
		}
	}
}

// newBar returns a bar that redraws at most ten times a second and disappears when it is full.
func newBar(what string, total int64, inBytes bool) *progressbar.ProgressBar {
	if total == 0 {
		total = -1 // unknown
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(inBytes),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}
