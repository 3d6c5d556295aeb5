// Package commands holds what each command of users-api does. It is the one package that knows all others: it reads
// the settings, chooses the storage, and decides in what order things start and stop.
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
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

// Serve serves until it is asked to stop. The error says why it ended otherwise; it has been logged.
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
	}
	return err
}

// serve runs from the first look at the data directory until the database is closed.
func serve(settings config.Config, logger *slog.Logger) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	ignore := context.AfterFunc(stop, func() {
		logger.Info("stopping", "reason", "signal")
		time.AfterFunc(sameSignal, cancel) // a later signal ends the program at once
	})
	defer ignore()

	tuneMemory(settings.ListMemory)
	if err := becomeUser(settings); err != nil {
		return err
	}
	users, err := models.Open(settings.DatabasePath(), settings.ListMemory)
	if err != nil {
		return err
	}
	err = listenAndServe(stop, settings, users, logger)
	return errors.Join(err, users.Close())
}

// listenAndServe serves until the context ends, and returns nil then; requests under way are finished first.
func listenAndServe(stop context.Context, settings config.Config, users *models.Users, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", settings.Port))
	if err != nil {
		return cannotListen(settings.Port, err)
	}
	logStart(logger, settings, listener.Addr())
	err = serveUntil(stop, listener, users, logger)
	if errors.Is(err, models.ErrLost) {
		return fmt.Errorf("%s: %w", settings.DatabasePath(), err)
	}
	return err
}

// serveUntil takes no new requests once the context ends, and cuts off what is not done in time.
func serveUntil(stop context.Context, listener net.Listener, users *models.Users, logger *slog.Logger) (err error) {
	server := routes.NewServer(users, logger)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(routes.Patient(listener)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot accept connections: %w", err)
	case <-stop.Done():
	case <-users.Lost():
		err = models.ErrLost
	}
	const requestTime = 6 * time.Second
	deadline, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	if server.Shutdown(deadline) != nil {
		logger.Warn("some clients were cut off", "after", requestTime)
		_ = server.Close()
	}
	return err
}

// cannotListen says what helps when a port cannot be had.
func cannotListen(port uint16, err error) error {
	help := "stop the program that has it, or set PORT to another"
	if errors.Is(err, syscall.EACCES) {
		help = "set PORT to 1024 or more, or grant the capability NET_BIND_SERVICE"
	}
	return fmt.Errorf("cannot listen on port %d: %w; %s", port, err, help)
}

// logStart tells a person where to go.
func logStart(logger *slog.Logger, settings config.Config, address net.Addr) {
	port := address.(*net.TCPAddr).Port // with PORT=0 the system chose it
	attributes := []any{"address", "http://localhost:" + strconv.Itoa(port), "database", settings.DatabasePath()}
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
		debug.SetMemoryLimit(32<<20 + 2*int64(listMemory))
	}
}
