package commands

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"users-api/models/postgres"
	"users-api/models/sqlite"
)

func newIndexSearch() *cobra.Command {
	drop := false
	command := &cobra.Command{
		Use:   "index-search [--drop]",
		Short: "Create an index for searches in many users, or remove it",
		Long: `Creates an index of the parts of names, emails and the fields in USER_FIELDS, in the file in DATA_DIR or in
the PostgreSQL database that DATABASE_URL names. Where it exists, a search (q) for three characters or more
no longer looks at every user. It finds the same. Run the command again after USER_FIELDS has changed.

The service may run meanwhile, and needs no restart. With --drop, the index is removed.

  users-api index-search
  docker compose exec -T users-api /app/users-api index-search`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if drop {
				return dropSearchIndex(command.Context())
			}
			return indexSearch(command.Context())
		},
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove the index")
	return command
}

func indexSearch(ctx context.Context) error {
	return changeSchema("creating an index for searches, and what keeps it up to date, on",
		"done: searches use it from now on, without a restart",
		func(d database) error {
			return sqlite.IndexSearch(ctx, d.path, d.fields, showProgress("indexing users", false))
		},
		func(d database, logger *slog.Logger) error { return postgres.IndexSearch(ctx, d.url, d.fields, logger) })
}

func dropSearchIndex(ctx context.Context) error {
	return changeSchema("removing the index for searches, and what keeps it up to date, from",
		"done: searches look at every user again",
		func(d database) error { return sqlite.DropSearchIndex(ctx, d.path) },
		func(d database, logger *slog.Logger) error { return postgres.DropSearchIndex(ctx, d.url, logger) })
}
