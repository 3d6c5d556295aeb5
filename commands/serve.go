// Package commands implements the commands of users-api. It is the only package that knows all the others: it reads the
// settings, chooses the storage, and decides in which order things start and stop.
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"users-api/config"
	"users-api/models"
	"users-api/routes"
)

// A stop takes at most 8 s, whatever clients and other programs do: a container engine kills after 10 s. routes.Serve
// takes up to 7 s, and the steps after it share the rest.
const (
	closeTime = 500 * time.Millisecond // to wait for a lock that another program holds
	logTime   = 300 * time.Millisecond // to write the last lines of a log whose reader has stalled
)

// errLogged means that the reason for the exit has been logged.
var errLogged = errors.New("see the log")

// Serve runs the service until a signal ends the context. If the service ends for any other reason, Serve returns
// errLogged.
func Serve(stop context.Context) error {
	settings, err := config.Read()
	signal.Ignore(syscall.SIGPIPE) // a log without a reader must not end the program
	logger, log := newLog(os.Stderr, settings, gatherTime)
	defer log.close(logTime)
	slog.SetDefault(logger) // for libraries: their lines must not block either
	if err == nil {
		err = serve(stop, settings, logger)
	}
	if err != nil {
		logger.Error("users-api stopped", "error", err)
		return errLogged
	}
	return nil
}

func serve(stop context.Context, settings config.Config, logger *slog.Logger) error {
	ended := context.AfterFunc(stop, func() {
		logger.Info("stopping", "reason", "signal")
		tellSystemd(logger, daemon.SdNotifyStopping)
	})
	defer ended()                  // another end is not logged as a signal
	keys, err := config.ReadKeys() // before becomeUser: secrets may be readable by root alone
	if err != nil {
		return err
	}
	database, err := findDatabase(settings) // likewise: the URL may be a secret
	if err != nil {
		return err
	}
	tuneMemory(settings.ListMemory)
	if err := becomeUser(settings, database); err != nil {
		return err
	}
	followKeys(stop, keys, logger)
	users, err := database.open(stop, settings.ListMemory, logger)
	if errors.Is(err, context.Canceled) {
		return nil // it was asked to stop while waiting for a lock or a server
	}
	if err != nil {
		return err
	}
	defer startPruning(stop, users, settings.ChangesKeep, logger)()
	backups := newBackups(settings, database, logger)
	err = listenAndServe(stop, settings, newService(settings, keys, users, database.fields, backups, logger), database, backups)
	return closeStorage(users, database, err)
}

// closeStorage closes the storage of a service that ended with an error, or with nil, and returns why it ended. Close may
// be the first to notice that the file was replaced.
func closeStorage(users engine, database database, err error) error {
	inTime, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if failure := users.Close(inTime); !errors.Is(err, failure) {
		err = errors.Join(err, failure)
	}
	if errors.Is(err, models.ErrReplaced) {
		return fmt.Errorf("%s: %w", database, err)
	}
	return err
}

func newService(settings config.Config, keys *config.Keyring, users engine, fields models.Fields, backups *backups,
	logger *slog.Logger) routes.Service {
	is := readBuild()
	return routes.Service{
		Users:     users,
		Fields:    fields,
		Access:    routes.Access{Keys: keys, Hosts: settings.AllowedHosts},
		Metrics:   routes.NewMetrics(is.Version, is.Revision, users.Stats, backups.lastBackup),
		Logger:    logger,
		ImportMax: settings.ImportMax,
		Version:   is.Version,
	}
}

// listenAndServe serves until the context ends, finishes the requests in progress, and returns nil.
func listenAndServe(stop context.Context, settings config.Config, service routes.Service, database database,
	backups *backups) error {
	listener, err := listenToClients(settings)
	if err != nil {
		return err
	}
	admin, endAdmin, err := serveAdmin(stop, settings, service)
	if err != nil {
		return err
	}
	defer endAdmin() // it responds until the end
	logStart(service.Logger, settings, database, localURL(listener), admin)
	warnOfOpenAccess(service, listener.Addr())
	defer backups.start(stop)()
	tellSystemd(service.Logger, daemon.SdNotifyReady)
	return service.Serve(stop, listener)
}

// tellSystemd tells systemd the state of the service, if the unit that started it has Type=notify.
func tellSystemd(logger *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		logger.Warn("systemd cannot be told the state of the service", "state", state, "error", err)
	}
}

func logStart(logger *slog.Logger, settings config.Config, database database, address, admin string) {
	is := readBuild()
	attributes := []any{"version", is.Version, "revision", is.Revision, "address", address, "database", database.String()}
	if admin != "" {
		attributes = append(attributes, "admin", admin)
	}
	if settings.NodeEnv != "" {
		attributes = append(attributes, "node_env", settings.NodeEnv)
	}
	logger.Info("listening", attributes...)
}

// tuneMemory lets garbage grow to four times the memory in use before it is collected, which serves a fifth more lists
// per second. Above a limit that leaves memory for two lists and the requests, the collector works as hard as it must.
// GOGC and GOMEMLIMIT take precedence if they are set.
func tuneMemory(listMemory int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(16<<20 + 2*int64(listMemory))
	}
}
