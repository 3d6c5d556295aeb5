package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"users-api/controllers"
	"users-api/database"
	"users-api/models"
)

// changeSchema changes the table users. It says what it will do, because nothing else changes a table that exists, and
// when that is done, what comes next.
func changeSchema(ctx context.Context, will, done string, change func(database.Location, context.Context) error) error {
	location, err := databaseForCommand()
	if err != nil {
		return err
	}
	announce(location, "%s users in %s", will, location)
	err = change(location, ctx)
	if failed, ok := errors.AsType[*models.StorageError](err); ok {
		return fmt.Errorf("cannot change users in %s: %w", location, failed)
	}
	if err == nil {
		fmt.Fprintln(os.Stderr, done)
	}
	return err
}

func newAddField() *cobra.Command {
	unique := false
	command := &cobra.Command{
		Use:   "add-field [--unique] NAME",
		Short: "Add a column to the table of users, for a field in USER_FIELDS",
		Long: `Adds a column to the table users in the file in DATA_DIR, or in the PostgreSQL database that DATABASE_URL
names, so that USER_FIELDS can name it. It holds text, and is NULL for the users there are. The command
fails if the table has the column already.

With --unique, it also creates the unique index users_NAME_unique of the values that are not empty, so that
no two users have the same. If the table has the column already, it creates the index alone. If some users
share a value, nothing is changed, and the command prints their ids. To undo it: DROP INDEX users_NAME_unique

The column updated_at is a time instead: triggers give it that of each insertion and change, whatever
program writes, and users who are there get their created_at. If the column exists, and is a time, the
command makes the triggers alone.

The service may run meanwhile. It serves the field once it is started with NAME in USER_FIELDS, and follows
an index within 5 s, without a restart.

  users-api add-field phone
  users-api add-field --unique employee_no`,
		Args: needsOne("NAME"),
		RunE: func(command *cobra.Command, arguments []string) error {
			name := arguments[0]
			if err := controllers.CheckAdded(arguments); err != nil && !isOfTheModel(name) {
				return seeHelp(command, err.Error())
			}
			will := fmt.Sprintf("adding the column %s (text, may be NULL) to", name)
			if name == models.UpdatedAt {
				will = "adding the column updated_at (a time) and the triggers that set it to"
			}
			serve := fmt.Sprintf("name %s in USER_FIELDS, and start the service again", name)
			if isOfTheModel(name) {
				serve = "start the service"
			}
			if unique {
				will = fmt.Sprintf("adding the column %[1]s (text, may be NULL) if there is none, and the unique index "+
					"users_%[1]s_unique of its values that are not empty, to", name)
				next := "done: no two users have the same " + name + "; if the column is new, " + serve
				return changeSchema(command.Context(), will, next,
					func(d database.Location, ctx context.Context) error { return d.AddUniqueField(ctx, name) })
			}
			return changeSchema(command.Context(), will, "added: now "+serve,
				func(d database.Location, ctx context.Context) error { return d.AddField(ctx, name) })
		},
	}
	command.Flags().BoolVar(&unique, "unique", false, "let no two users have the same value")
	return command
}

// isOfTheModel reports whether every user has a field, which a table of before may lack.
func isOfTheModel(name string) bool { return slices.Contains(models.NewFields().OptionalNames(), name) }

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

  users-api ignore-email-case`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return changeSchema(command.Context(),
				"creating the unique index users_email_nocase, which ignores the case of A to Z, on",
				"done: a running service follows it within 5 s, without a restart", database.Location.IgnoreEmailCase)
		},
	}
}

func newChanges() *cobra.Command {
	return &cobra.Command{
		Use:   "changes on|off",
		Short: "Record changes of users for clients that keep a copy, or stop",
		Long: `"changes on" creates the table users_changes and triggers of users that fill it, in the file in DATA_DIR or
in the PostgreSQL database that DATABASE_URL names. From then on GET /api/changes tells clients what any
program has written. The table holds ids, and no names or emails. "changes off" removes all of it.

The service may run meanwhile, and needs no restart.

  users-api changes on`,
		Args: needsOne("on or off", "on", "off"),
		RunE: func(command *cobra.Command, arguments []string) error {
			if arguments[0] == "off" {
				return changeSchema(command.Context(),
					"removing the table users_changes, and the triggers that fill it, for",
					"changes are no longer recorded", database.Location.ForgetChanges)
			}
			return changeSchema(command.Context(),
				"creating the table users_changes, and triggers that record in it what is written, for",
				"changes are recorded: GET /api/changes has them", database.Location.RecordChanges)
		},
	}
}

func newIndexSearch() *cobra.Command {
	drop := false
	command := &cobra.Command{
		Use:   "index-search [--drop]",
		Short: "Create an index for searches in many users, or remove it",
		Long: `Creates an index of the parts of names, emails and the fields in USER_FIELDS, in the file in DATA_DIR or in
the PostgreSQL database that DATABASE_URL names. Where it exists, a search (q) for three characters or more
no longer looks at every user. It finds the same. Run the command again after USER_FIELDS has changed.

The service may run meanwhile, and needs no restart. On SQLite, writes wait until the index is complete,
and those that wait for more than 5 s fail. With --drop, the index is removed.

  users-api index-search`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if drop {
				return changeSchema(command.Context(),
					"removing the index for searches, and what keeps it up to date, from",
					"done: searches look at every user again", database.Location.DropSearchIndex)
			}
			return changeSchema(command.Context(),
				"creating an index for searches, and what keeps it up to date, on",
				"done: searches use it from now on, without a restart", database.Location.IndexSearch)
		},
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove the index")
	return command
}
