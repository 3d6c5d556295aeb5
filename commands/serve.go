// Package commands holds what each command of users-api does. It is the one package that knows all others: it reads
// the settings, chooses the storage, and decides in what order things start and stop.
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

	"users-api/config"
	"users-api/models"
	"users-api/routes"
)

// A stop takes at most 8 s, whatever clients and other programs do: a container engine kills after 10. routes.Serve
// takes up to 7 of them, and what follows shares the rest.
const (
	closeTime = 500 * time.Millisecond // for a lock that another program holds
	logTime   = 300 * time.Millisecond // for the last lines of a log that nobody reads
)

// sameSignal is how long a second signal counts as the first: air, among others, sends one to the process and another
// to its process group, and the requests under way must outlive both.
const sameSignal = time.Second

// errLogged: why the service ended was logged.
var errLogged = errors.New("see the log")

// Serve serves until it is asked to stop. It returns errLogged where it ended otherwise.
func Serve() error {
	settings, err := config.Read()
	signal.Ignore(syscall.SIGPIPE) // a log without a reader must not end the program
	logger, log := newLog(os.Stderr, settings, gatherTime)
	defer log.close(logTime)
	slog.SetDefault(logger) // for libraries: their lines wait for no reader either
	if err == nil {
		err = serve(settings, logger)
	}
	if err != nil {
		logger.Error("users-api stopped", "error", err)
		return errLogged
	}
	return nil
}

// serve runs from the first look at the database until it is closed.
func serve(settings config.Config, logger *slog.Logger) error {
	stop, end := untilAsked(logger)
	defer end()
	keys, err := config.ReadKeys() // as root, where it was started as root: secrets may be for root alone
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
	users, err := database.open(stop, settings.ListMemory, logger)
	if errors.Is(err, context.Canceled) {
		return nil // it was asked to stop while it waited for a lock or a server
	}
	if err != nil {
		return err
	}
	backups := newBackups(settings, database, logger)
	err = listenAndServe(stop, settings, newService(settings, keys, users, backups, logger), database, backups)
	inTime, cancelClose := context.WithTimeout(context.Background(), closeTime)
	defer cancelClose()
	if failure := users.Close(inTime); !errors.Is(err, failure) { // a lost file may end the service, or be noticed only here
		err = errors.Join(err, failure)
	}
	if errors.Is(err, models.ErrReplaced) {
		return fmt.Errorf("%s: %w", database, err)
	}
	return err
}

// newService puts together what answers requests.
func newService(settings config.Config, keys config.Keys, users engine, backups *backups, logger *slog.Logger) routes.Service {
	is := readBuild()
	return routes.Service{
		Users:     users,
		Access:    routes.Access{Keys: keys.Full, ReadKeys: keys.Read, Hosts: settings.AllowedHosts},
		Metrics:   routes.NewMetrics(is.Version, is.Revision, users.Stats, backups.lastBackup),
		Logger:    logger,
		ImportMax: settings.ImportMax,
		Version:   is.Version,
	}
}

// untilAsked returns a context that ends when the program is asked to stop, and what ends the waiting for that. A later
// signal ends the program at once.
func untilAsked(logger *slog.Logger) (context.Context, func()) {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ignore := context.AfterFunc(stop, func() {
		logger.Info("stopping", "reason", "signal")
		time.AfterFunc(sameSignal, cancel)
	})
	return stop, func() { ignore(); cancel() }
}

// listenAndServe serves until the context ends, and returns nil then; requests under way are finished first.
func listenAndServe(stop context.Context, settings config.Config, service routes.Service, database database,
	backups *backups) error {
	listener, err := listen(settings, "PORT", settings.Port)
	if err != nil {
		return err
	}
	admin, endAdmin, err := serveAdmin(stop, settings, service)
	if err != nil {
		return err
	}
	defer endAdmin() // it answers to the end
	logStart(service.Logger, settings, database, localURL(settings, listener.Addr()), admin)
	warnOfOpenDoor(service, listener.Addr())
	backups.start(stop)
	defer backups.stop()
	return service.Serve(stop, listener)
}

// logStart tells a person where to go.
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

// tuneMemory lets garbage grow to four times what is in use before it is collected, which serves a fifth more lists a
// second, up to a limit that leaves room for two lists and the requests: beyond it the collector works as hard as it
// must. GOGC and GOMEMLIMIT take precedence where a deployer sets them.
func tuneMemory(listMemory int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(16<<20 + 2*int64(listMemory))
	}
}
