package commands

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"users-api/config"
	"users-api/controllers"
	"users-api/database"
	"users-api/database/dbfile"
	"users-api/models"
)

func findDatabase(settings config.Config, logger *slog.Logger) (d database.Location, err error) {
	for variable, setting := range config.Misspelt() {
		logger.Warn("a variable is set that is no setting", "variable", variable, "help", "did you mean "+setting+"?")
	}
	d = database.Location{Path: settings.DatabasePath(), KeepChanges: settings.ChangesKeep, Logger: logger}
	if err := controllers.CheckAdded(settings.UserFields); err != nil {
		return d, fmt.Errorf("USER_FIELDS is %q: %w", strings.Join(settings.UserFields, ","), err)
	}
	d.Fields = models.NewFields(settings.UserFields...)
	if d.URL, err = config.ReadDatabaseURL(); err == nil && d.URL != "" {
		err = database.CheckURL(d.URL)
	}
	return d, err
}

var errNoBackups = errors.New("DATABASE_URL is set, so the users are in PostgreSQL and not in DATA_DIR: " +
	"use pg_dump and pg_restore")

// databaseForCommand returns the database that the settings name, after switching the process to the service's user.
func databaseForCommand() (d database.Location, err error) {
	settings, err := config.Read()
	if err == nil {
		d, err = findDatabase(settings, newLogger(settings))
	}
	if err == nil {
		err = becomeUser(settings, d)
	}
	if err == nil {
		err = dbfile.SetAsideForeignWAL(d.Path, d.Logger)
	}
	return d, err
}
