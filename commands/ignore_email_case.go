package commands

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"users-api/models/postgres"
	"users-api/models/sqlite"
)

func newIgnoreEmailCase() *cobra.Command {
	return &cobra.Command{
		Use:   "ignore-email-case",
		Short: "Make emails that differ only in the case of A to Z the same",
		Long: `Creates the unique index users_email_nocase on the table users in the file in DATA_DIR, or in the
PostgreSQL database that DATABASE_URL names. Where it exists, emails that differ only in the case of the
letters A to Z are the same, to searches by email, to imports, and when a user is created or changed. An
email is still stored and shown as it was sent.

If some users have the same email already, nothing is changed, and the command prints their ids.

The service may run meanwhile, and needs no restart. To undo it: DROP INDEX users_email_nocase

  users-api ignore-email-case
  docker compose exec -T users-api /app/users-api ignore-email-case`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return ignoreEmailCase(command.Context()) },
	}
}

func ignoreEmailCase(ctx context.Context) error {
	return changeSchema("creating the unique index users_email_nocase, which ignores the case of A to Z, on",
		"done: a running service follows it from its next request on, without a restart",
		func(d database) error { return sqlite.IgnoreEmailCase(ctx, d.path) },
		func(d database, logger *slog.Logger) error { return postgres.IgnoreEmailCase(ctx, d.url, logger) })
}
