// Package commands implements the commands of users-api. It is the only package that knows all the others: it reads the
// settings, chooses the storage, and decides in which order things start and stop.
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"users-api/config"
	"users-api/database"
	"users-api/database/dbfile"
	"users-api/models"
	"users-api/routes"
)

const (
	// closeTime is how long the end waits for a lock that another program holds. A stop takes at most 8 s, whatever
	// clients and other programs do, because a container engine kills after 10 s: routes takes up to 7 s, and
	// the steps after it share the rest.
	closeTime = 500 * time.Millisecond
	pruneTime = time.Minute // between two deletions of old entries of users_changes
)

// errLogged means that the reason for the exit has been logged.
var errLogged = errors.New("see the log")

// Serve runs the service until a signal ends the context. If the service ends for any other reason, Serve returns
// errLogged.
func Serve(stop context.Context) error {
	settings, err := config.Read()
	signal.Ignore(syscall.SIGPIPE) // a log without a reader must not end the program
	logger := newLogger(settings)
	slog.SetDefault(logger) // for libraries
	if err == nil {
		err = serve(stop, settings, logger)
	}
	if err != nil {
		if settings.Publish != "" && strings.Contains(err.Error(), "`users-api ") { // which compose's machine does not have
			logger = logger.With("help", withCompose)
		}
		logger.Error("users-api stopped", "error", err)
		return errLogged
	}
	return nil
}

func newLogger(settings config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// serve prepares what it must while it may still be root, and opens the storage of users until it is told to stop.
func serve(stop context.Context, settings config.Config, logger *slog.Logger) (err error) {
	forget := context.AfterFunc(stop, func() {
		logger.Info("stopping", "reason", "signal")
		tellSystemd(logger, daemon.SdNotifyStopping)
	})
	defer forget() // another end is not logged as a signal

	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // which would end the program
	keys, err := config.ReadKeys()         // before becomeUser: secrets may be readable by root alone
	if err != nil {
		return err
	}
	location, err := findDatabase(settings, logger) // so may the URL
	if err == nil && location.URL != "" && settings.Backups.Every > 0 {
		err = fmt.Errorf("BACKUP_EVERY is set, and only the file has such backups: unset it; %w", errNoBackups)
	}
	if err != nil {
		return err
	}
	if err := becomeUser(settings, location); err != nil {
		return err
	}
	go followKeys(stop, keys, hangups, logger) // nobody waits for its end: a disk that hangs must not delay a stop

	tuneMemory(settings.ListMemory)
	users, err := location.Open(stop, settings.ListMemory)
	if errors.Is(err, context.Canceled) {
		return nil // it was asked to stop while waiting for a lock or a server
	}
	if err != nil {
		return err
	}
	defer func() {
		inTime, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if failure := users.Close(inTime); !errors.Is(err, failure) { // it may notice first that the file was replaced
			err = errors.Join(err, failure)
		}
		if errors.Is(err, models.ErrReplaced) {
			err = fmt.Errorf("%s: %w", location, err)
		}
	}()
	return serveUsers(stop, settings, keys, location, users, logger)
}

// serveUsers listens and answers until it is told to stop.
func serveUsers(stop context.Context, settings config.Config, keys *config.Keyring, location database.Location,
	users *database.Users, logger *slog.Logger,
) error {
	backups := &backups{Backups: settings.Backups, database: location.Path, logger: logger}
	if location.URL == "" {
		backups.look()
	}
	version, revision := readBuild()
	service := routes.Service{
		Users:       users,
		ChangesKeep: settings.ChangesKeep,
		Access:      routes.Access{Keys: keys, People: settings.People, Hosts: settings.AllowedHosts},
		Metrics:     routes.NewMetrics(version, revision, users, backups.lastBackup),
		Logger:      logger,
		ImportMax:   settings.ImportMax,
		Version:     version,
	}
	serveAt := service.Prepare(stop)

	listener, err := listen(settings, "PORT", settings.Port)
	if err != nil {
		return err
	}
	started := []any{"version", version, "revision", revision, "address", localURL(listener),
		"database", location.String()}
	if settings.AdminPort != nil {
		admin, err := listen(settings, "ADMIN_PORT", *settings.AdminPort)
		if err != nil {
			return err
		}
		defer service.Admin(stop, admin)() // it responds until the end
		started = append(started, "admin", localURL(admin))
	}
	if settings.NodeEnv != "" {
		started = append(started, "node_env", settings.NodeEnv)
	}
	counts, ended := keys.Count()
	started = append(append(started, counts...), "backups", settings.Backups.String(),
		"fields", strings.Join(users.Fields().Names(), ","))
	logger.Info("listening", started...)
	if len(ended) > 0 {
		logger.Warn("the last day of some keys is over: they are refused", "names", ended)
	}
	if keys == nil && !listener.Addr().(*net.TCPAddr).IP.IsLoopback() && !settings.PublishedHere() {
		logger.Warn("anyone who can reach this port can read, change and delete all users",
			"help", "set API_KEY or API_KEY_FILE to require a key; to keep other machines out, "+
				"set LISTEN_ADDRESS=127.0.0.1, or with compose unset PUBLISH")
	}

	background, end := context.WithCancel(stop)
	var running sync.WaitGroup
	defer running.Wait() // a backup in progress leaves nothing behind
	defer end()
	if settings.Backups.Every > 0 {
		running.Go(func() { backups.run(background) })
	}
	if settings.ChangesKeep > 0 {
		go pruneChanges(background, users, logger)
	}
	go warnOfUnfit(background, users, logger)
	tellSystemd(logger, daemon.SdNotifyReady)
	return serveAt(listener)
}

// tellSystemd tells systemd the state of the service, if the unit that started it has Type=notify.
func tellSystemd(logger *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		logger.Warn("systemd cannot be told the state of the service", "state", state, "error", err)
	}
}

// becomeUser switches from root to the uid and gid of RUN_AS. If the users are in the data directory, it first gives
// the directory to that user. Only the container image sets RUN_AS: a container engine gives a fresh bind mount to
// root, and nothing else in the image could change that. A process that is not root, as with --user, keeps its user.
func becomeUser(settings config.Config, location database.Location) error {
	if settings.RunAs == 0 || os.Geteuid() != 0 {
		return nil
	}
	id := int(settings.RunAs)
	// Where a directory cannot be given away, opening a file in it fails later, and says what to do. A new directory is
	// for id alone, because it holds every name and email. Its parents must be open to id, which does not own them.
	takeOver := func(directory string) {
		_ = dbfile.MakeDirectory(filepath.Dir(directory), 0o755)
		_ = dbfile.MakeDirectory(directory, 0o700)
		_ = os.Lchown(directory, id, id)
	}
	if location.URL == "" {
		takeOver(settings.DataDir)
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = os.Lchown(location.Path+suffix, id, id)
		}
		if settings.Backups.Every > 0 {
			takeOver(settings.Backups.Dir)
		}
	}
	if err := setUser(id); err != nil {
		return fmt.Errorf("cannot become uid %d: %w; where root is an ordinary user outside the container (rootless, user "+
			"namespaces), set RUN_AS=0; otherwise grant SETUID and SETGID, or start as that user (--user %[1]d:%[1]d)", id, err)
	}
	return nil
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

// listen opens a port. The variable is the one that sets the port, for the error message.
func listen(settings config.Config, variable string, port uint16) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(settings.ListenAddress, strconv.Itoa(int(port))))
	if err == nil {
		return listener, nil
	}
	help := "stop the program that has it, or set " + variable + " to another"
	switch {
	case errors.Is(err, syscall.EACCES):
		help = "set " + variable + " to 1024 or more, or grant the capability NET_BIND_SERVICE"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		help = "set LISTEN_ADDRESS to an address of this machine, or unset it to listen on all of them"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		help = "raise the limit of open files (`ulimit -n`)"
	}
	return nil, fmt.Errorf("cannot listen on port %d: %w; %s", port, err, help)
}

// localURL returns the URL of a listener for a person on this machine.
func localURL(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr) // with PORT=0, its port is the one that the system chose
	if address.IP.IsUnspecified() || address.IP.String() == "127.0.0.1" {
		return "http://localhost:" + strconv.Itoa(address.Port)
	}
	return "http://" + address.String()
}

// followKeys reads the files of keys again at each hangup, until the context ends.
func followKeys(stop context.Context, keys *config.Keyring, hangups <-chan os.Signal, logger *slog.Logger) {
	for {
		select {
		case <-stop.Done():
			return
		case <-hangups:
		}
		if isSet, err := keys.Reread(); err != nil {
			logger.Error("the files of keys cannot be used: the old keys stay valid", "error", err, "uid", os.Geteuid())
		} else if isSet {
			counts, _ := keys.Count()
			logger.Info("the files of keys were read again", counts...)
		}
	}
}

func pruneChanges(ctx context.Context, users *database.Users, logger *slog.Logger) {
	for on := true; on; on = sleep(ctx, pruneTime) {
		if err := users.PruneChanges(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("old changes were not deleted: the next attempt follows in a minute", "error", err)
		}
	}
}

// warnOfUnfit says once of each field how many texts do not fit its type.
func warnOfUnfit(ctx context.Context, users *database.Users, logger *slog.Logger) {
	for _, field := range users.Fields() {
		if field.Type == nil {
			continue
		}
		unfit := models.And{models.Comparison{Column: field.Name, Operator: models.IsUnfit}}
		if err := users.Query(ctx, models.Query{Where: unfit, Limit: 10, Count: true}, func(found database.Result) error {
			var first []int64
			for user, err := range found.Users {
				if err != nil {
					return err
				}
				first = append(first, user.ID)
			}
			if found.Total > 0 {
				logger.Warn("values do not fit the type of their field: they are shown as the texts that they are", "field", field.Name,
					"type", field.Type.Name, "values", found.Total, "first_ids", fmt.Sprint(first))
			}
			return nil
		}); err != nil && ctx.Err() == nil {
			logger.Warn("the values of a field were not compared with its type", "field", field.Name, "error", err)
		}
	}
}

// sleep waits for a time, and reports whether it has passed before the context ended.
func sleep(ctx context.Context, duration time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(duration):
		return true
	}
}
