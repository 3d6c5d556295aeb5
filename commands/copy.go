package commands

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "copy",
		Short: "Copy the users from the file in DATA_DIR to PostgreSQL, while the service is stopped",
		Long: `Copies all users from the file in DATA_DIR to the PostgreSQL database that DATABASE_URL names, with their
ids, times and the fields in USER_FIELDS, and counts them before it says that it is done: all of them or
none. Columns that it leaves behind are named. New users get ids that no user ever had, deleted ones
included.

Stop the service first: what it stores meanwhile would not be copied. The table users in PostgreSQL is
made when there is none, and must be empty. The file is only read; keep it until you no longer need it.

  sudo systemctl stop users-api &&
  sudo DATA_DIR=/var/lib/users-api DATABASE_URL=postgres://users:password@db.example.org/users users-api copy

With compose: docker compose run --rm -T users-api-postgres copy`,
		Args: noArguments,
		RunE: copyUsers,
	}
}

func copyUsers(command *cobra.Command, _ []string) error {
	target, err := databaseForCommand() // the owner of the files stays
	if err == nil && target.URL == "" {
		err = errors.New("DATABASE_URL is not set: set it, or DATABASE_URL_FILE, to the PostgreSQL database that the " +
			"users move to, such as postgres://users:password@db.example.org/users")
	}
	if err != nil {
		return err
	}
	began, source := time.Now(), target
	source.URL = ""
	announce(source, "copying the users from %s to %s", source, target)
	copied, err := source.CopyTo(command.Context(), target)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "copied and counted: %s to %s, %.1f seconds\n",
		users(copied.Users), target, time.Since(began).Seconds())
	if len(copied.Left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind, because USER_FIELDS does not name them:", strings.Join(copied.Left, ", "))
	}
	return nil
}
