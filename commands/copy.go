package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"users-api/config"
	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
)

func newCopy() *cobra.Command {
	return &cobra.Command{
		Use:   "copy",
		Short: "Move the users from the file in DATA_DIR to PostgreSQL, while the service is stopped",
		Long: `Copies all users from the file in DATA_DIR to the PostgreSQL database that DATABASE_URL names, with their
ids, times and the fields in USER_FIELDS, and reads them back before it says that it is done: all of them
or none. Columns that it leaves behind are named. New users get ids that were never given, not even to
users who are deleted by now.

Stop the service first: what it stores meanwhile would not be copied. The table users in PostgreSQL is
made when there is none, and must be empty. The file is only read; keep it until you no longer need it.

  systemctl stop users-api
  DATABASE_URL=postgres://users:password@db.example.org/users users-api copy`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return copyUsers(command.Context()) },
	}
}

func copyUsers(ctx context.Context) error {
	settings, err := config.Read()
	if err != nil {
		return err
	}
	url, err := config.ReadDatabaseURL()
	if err == nil && url == "" {
		err = errors.New("DATABASE_URL is not set: set it, or DATABASE_URL_FILE, to the PostgreSQL database that the " +
			"users move to, such as postgres://users:password@db.example.org/users")
	}
	if err != nil {
		return err
	}
	fields, err := readFields(settings)
	if err != nil {
		return err
	}
	target := database{url: url, fields: fields}
	if err := becomeUser(settings, target); err != nil { // does not change the owner of the files
		return err
	}
	began := time.Now()
	source, err := sqlite.OpenCopySource(settings.DatabasePath(), target.fields)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := copyTo(ctx, target, source, slog.New(newHandler(os.Stderr, settings))); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "copied and compared: %d users to %s, %.1f seconds\n", source.Count, target,
		time.Since(began).Seconds())
	if len(source.Left) > 0 {
		fmt.Fprintf(os.Stderr, "left behind, because USER_FIELDS does not name them: %s\n", strings.Join(source.Left, ", "))
	}
	return nil
}

func copyTo(ctx context.Context, target database, source *sqlite.CopySource, logger *slog.Logger) error {
	users, err := postgres.Open(ctx, target.url, target.fields, 0, logger)
	if err != nil {
		return err
	}
	defer users.Close(ctx) //nolint:errcheck // nothing is in progress
	err = users.CopyFrom(ctx, postgres.CopySource{
		Users: source.Users, Count: source.Count, Highest: source.Highest, Finish: source.Finish,
	}, showProgress("copying", false))
	if failed, ok := errors.AsType[*models.StorageError](err); ok {
		return fmt.Errorf("cannot copy the users to %s: %w", target, failed)
	}
	return err
}
