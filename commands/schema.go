package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"users-api/controllers"
	"users-api/database"
	"users-api/models"
)

// inEither ends the help of what changes the table.
const inEither = `

The table is in the file in DATA_DIR, or in the PostgreSQL database that DATABASE_URL names. The service may
run meanwhile.`

// changing returns what runs a command that changes the table users. It says what it will do, because nothing else changes a
// table that exists, and when that is done, what comes next.
func changing(will, done string, change func(database.Location, context.Context) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error {
		location, err := databaseForCommand()
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s users in %s\n", will, location)
		err = change(location, command.Context())
		if failed, ok := errors.AsType[*models.StorageError](err); ok {
			return fmt.Errorf("cannot change users in %s: %w", location, failed)
		}
		if err == nil {
			fmt.Fprintln(os.Stderr, done)
		}
		return err
	}
}

func newAddField() *cobra.Command {
	unique := false
	command := &cobra.Command{
		Use:   "add-field [--unique] NAME…",
		Short: "Add columns to the table of users, for fields in USER_FIELDS",
		Long: `Adds a column for each NAME to the table users, so that USER_FIELDS can name it. It holds text, and is NULL
for the users there are. The command fails, and adds none, if the table has one of the columns already.

With --unique, it also creates a unique index users_NAME_unique of the values that are not empty, so that
no two users have the same. If the table has the column already, it creates the index alone. If some users
share a value, nothing is changed, and the command prints their ids. To undo it: DROP INDEX users_NAME_unique

The column updated_at is a time instead: the service gives it that of each creation and change, and users
who are there get their created_at.

The service serves the fields, and knows the index, once it is started again with each NAME in USER_FIELDS.

  users-api add-field phone department
  users-api add-field --unique employee_no` + inEither,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, names []string) error {
			own := models.NewFields().OptionalNames() // which a table of before may lack
			added := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(own, name) })
			if err := controllers.CheckAdded(added); err != nil {
				return seeHelp(command, err)
			}
			if slices.ContainsFunc(added, func(name string) bool { return strings.Contains(name, ":") }) {
				return errors.New("a column holds text whatever the type of its field is: name it without the type")
			}
			all, serve := strings.Join(names, ", "), "start the service again"
			if len(added) > 0 {
				serve = "name " + strings.Join(added, ", ") + " in USER_FIELDS, and start the service again"
			}
			will, done := "adding the columns "+all+" to", "added: now "+serve
			if unique {
				will = "adding the columns " + all + " if there are none, and a unique index of the values of each that are not empty, to"
				done = "done: no two users have the same value; now " + serve
			}
			run := changing(will, done, func(d database.Location, ctx context.Context) error { return d.AddFields(ctx, unique, names...) })
			return run(command, nil)
		},
	}
	command.Flags().BoolVar(&unique, "unique", false, "let no two users have the same value")
	return command
}

func newIgnoreEmailCase() *cobra.Command {
	return &cobra.Command{
		Use:   "ignore-email-case",
		Short: "Make emails that differ only in the case of A to Z the same",
		Long: `Creates the unique index users_email_nocase on the table users. Where it exists, emails that differ only in
the case of the letters A to Z are the same, to searches by email, to imports, and when a user is created or
changed. An email is still stored and shown as it was sent.

If some users have the same email already, nothing is changed, and the command prints their ids.
The service follows it from its next start on. To undo it: DROP INDEX users_email_nocase` + inEither,
		Args: cobra.NoArgs,
		RunE: changing("creating the unique index users_email_nocase, which ignores the case of A to Z, on",
			"done: a running service follows it from its next start on", database.Location.IgnoreEmailCase),
	}
}

func newChanges() *cobra.Command {
	return &cobra.Command{
		Use:   "changes restart",
		Short: "Let clients that keep a copy export all users again",
		Long: `What the service writes is recorded in the table users_changes, and what other programs write is not. After
such a write, "changes restart" makes every cursor of GET /api/changes a 410, so that whoever keeps a copy
exports all users again. The history of each user stays, and the service needs no restart.

It also makes that table, and removes what earlier versions of this program have made, where the service
itself may not: run it once as the owner of the table users.` + inEither,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"restart"},
		RunE: changing("beginning the feed of changes again, in users_changes, for",
			"done: every client of GET /api/changes exports all users again", database.Location.RestartChanges),
	}
}

func newIndexSearch() *cobra.Command {
	drop := false
	command := &cobra.Command{
		Use:   "index-search [--drop]",
		Short: "Create an index for searches in many users, or remove it",
		Long: `Creates an index of the parts of names, emails and the fields in USER_FIELDS. Where it exists, a search (q)
for three characters or more no longer looks at every user. It finds the same. Run the command again after
USER_FIELDS has changed. The service uses the index from its next start on. On SQLite, writes wait until the
index is complete, and those that wait for more than 5 s fail. With --drop, the index is removed.` + inEither,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			run := changing("creating an index for searches, and what keeps it up to date, on",
				"done: searches use it from the next start of the service on", database.Location.IndexSearch)
			if drop {
				run = changing("removing the index for searches, and what keeps it up to date, from",
					"done: searches look at every user again", database.Location.DropSearchIndex)
			}
			return run(command, nil)
		},
	}
	command.Flags().BoolVar(&drop, "drop", false, "remove the index")
	return command
}
