package commands

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"users-api/models/postgres"
	"users-api/models/sqlite"
)

func newChanges() *cobra.Command {
	return &cobra.Command{
		Use:   "changes on|off",
		Short: "Record changes of users for clients that keep a copy, or stop",
		Long: `"changes on" creates the table users_changes and triggers of users that fill it, in the file in DATA_DIR or
in the PostgreSQL database that DATABASE_URL names. From then on GET /api/changes tells clients what any
program has written. The table holds ids, and no names or emails. "changes off" removes all of it.

The service may run meanwhile, and needs no restart.

  users-api changes on
  docker compose exec -T users-api /app/users-api changes on`,
		Args: onOrOff,
		RunE: func(command *cobra.Command, arguments []string) error {
			if arguments[0] == "on" {
				return recordChanges(command.Context())
			}
			return forgetChanges(command.Context())
		},
	}
}

func onOrOff(command *cobra.Command, arguments []string) error {
	if len(arguments) != 1 || arguments[0] != "on" && arguments[0] != "off" {
		return seeHelp(command, fmt.Sprintf("changes needs one argument, on or off, and got %q", arguments))
	}
	return nil
}

func recordChanges(ctx context.Context) error {
	return changeSchema("creating the table users_changes, and triggers that record in it what is written, for",
		"changes are recorded: GET /api/changes has them",
		func(d database) error { return sqlite.RecordChanges(ctx, d.path) },
		func(d database, logger *slog.Logger) error { return postgres.RecordChanges(ctx, d.url, logger) })
}

func forgetChanges(ctx context.Context) error {
	return changeSchema("removing the table users_changes, and the triggers that fill it, for",
		"changes are no longer recorded",
		func(d database) error { return sqlite.ForgetChanges(ctx, d.path) },
		func(d database, logger *slog.Logger) error { return postgres.ForgetChanges(ctx, d.url, logger) })
}

// pruneEvery is how often old entries of the feed are deleted.
const pruneEvery = time.Minute

// startPruning deletes the entries of the feed that are older than keep, until the context ends or stop is called.
func startPruning(ctx context.Context, users engine, keep time.Duration, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go pruneChanges(ctx, users, keep, logger)
	return cancel
}

func pruneChanges(ctx context.Context, users engine, keep time.Duration, logger *slog.Logger) {
	for {
		if err := users.PruneChanges(ctx, time.Now().Add(-keep)); err != nil && ctx.Err() == nil {
			logger.Warn("old changes were not deleted: the next attempt follows in a minute", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneEvery):
		}
	}
}
