package commands

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"users-api/models"
	"users-api/models/sqlite/backup"
)

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

func restore(ctx context.Context, source string) error {
	database, err := databaseFile()
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
	restored, err := backup.Restore(ctx, database, models.NewFields(), from, showProgress("restoring", true))
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
