package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"users-api/config"
	"users-api/controllers"
	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
)

// database says where the users are, in PostgreSQL if there is a URL, otherwise in a file, and which fields they have.
type database struct {
	url, path string
	standbys  string // a URL, or "" for none
	fields    models.Fields
}

var errNoPrimary = errors.New("DATABASE_READ_URL is set and DATABASE_URL is not: it names standbys of the server in DATABASE_URL")

var errNoBackups = errors.New("DATABASE_URL is set, so the users are in PostgreSQL and not in DATA_DIR: use pg_dump and pg_restore")

func findDatabase(settings config.Config) (database, error) {
	url, err := config.ReadDatabaseURL()
	if err == nil && url != "" && settings.Backups.Every > 0 {
		err = fmt.Errorf("BACKUP_EVERY is set, and only the file has such backups: unset it; %w", errNoBackups)
	}
	if err != nil {
		return database{}, err
	}
	standbys, err := config.ReadStandbysURL()
	if err == nil && standbys != "" && url == "" {
		err = errNoPrimary
	}
	if err != nil {
		return database{}, err
	}
	fields, err := readFields(settings)
	return database{url, settings.DatabasePath(), standbys, fields}, err
}

// databaseForCommand returns the settings and the database that they name, and becomes the user that serves it.
func databaseForCommand() (config.Config, database, error) {
	settings, err := config.Read()
	if err != nil {
		return settings, database{}, err
	}
	database, err := findDatabase(settings)
	if err == nil {
		err = becomeUser(settings, database)
	}
	return settings, database, err
}

// readFields returns the table of fields with those that USER_FIELDS adds.
func readFields(settings config.Config) (models.Fields, error) {
	if err := models.CheckAdded(settings.UserFields, controllers.ParameterNames()); err != nil {
		return nil, fmt.Errorf("USER_FIELDS is %q: %w", strings.Join(settings.UserFields, ","), err)
	}
	return models.NewFields(settings.UserFields...), nil
}

type engine interface {
	models.Users
	Stats() models.Stats
	PruneChanges(ctx context.Context, before time.Time) error
}

func (d database) open(ctx context.Context, listMemory int, logger *slog.Logger) (engine, error) {
	if d.url != "" {
		return postgres.OpenWithStandbys(ctx, d.url, d.standbys, d.fields, listMemory, logger)
	}
	return sqlite.Open(ctx, d.path, d.fields, listMemory)
}

// String is for the log: the path of the file, or the hosts, ports and name of the database.
func (d database) String() string {
	if d.url == "" {
		return d.path
	}
	return postgres.Location(d.url)
}
