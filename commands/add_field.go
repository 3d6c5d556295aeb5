package commands

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"users-api/controllers"
	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
)

func newAddField() *cobra.Command {
	return &cobra.Command{
		Use:   "add-field NAME",
		Short: "Add a column to the table of users, for a field in USER_FIELDS",
		Long: `Adds a column to the table users in the file in DATA_DIR, or in the PostgreSQL database that DATABASE_URL
names, so that USER_FIELDS can name it. It holds text, and is NULL for the users there are. The command
fails if the table has the column already.

The service may run meanwhile. It serves the field after a restart with NAME in USER_FIELDS.

  users-api add-field phone
  docker compose exec -T users-api /app/users-api add-field phone`,
		Args: oneName,
		RunE: func(command *cobra.Command, arguments []string) error {
			return addField(command.Context(), arguments[0])
		},
	}
}

// oneName checks the arguments of a command that needs the NAME of a field.
func oneName(command *cobra.Command, arguments []string) error {
	if len(arguments) != 1 {
		return seeHelp(command, fmt.Sprintf("%s needs one argument, NAME, and got %q", command.Name(), arguments))
	}
	if err := models.CheckAdded(arguments, controllers.ParameterNames()); err != nil {
		return seeHelp(command, err.Error())
	}
	return nil
}

func addField(ctx context.Context, name string) error {
	field := models.NewFields(name).Find(name)
	return changeSchema(fmt.Sprintf("adding the column %s (text, may be NULL) to", name),
		fmt.Sprintf("added: now name %s in USER_FIELDS, and restart the service", name),
		func(d database) error { return sqlite.AddColumn(ctx, d.path, field) },
		func(d database, logger *slog.Logger) error { return postgres.AddColumn(ctx, d.url, field, logger) })
}
