// Package config reads the environment, once, into a checked [Config].
//
// Every setting is a field here, with its variable, its default and what it accepts, except the keys and the URL of the
// database, which are secret and read separately. Values are read as text and parsed strictly, because viper's own
// number getters turn a mistake such as PORT=abc into 0 without an error, and 0 is a random port.
package config

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// Config holds the checked settings.
type Config struct {
	// Port is PORT, the TCP port to listen on; 0 lets the system choose a free one.
	Port uint16
	// ListenAddress is LISTEN_ADDRESS, the one address to listen on. Its zero value means all addresses.
	ListenAddress netip.Addr
	// AllowedHosts is ALLOWED_HOSTS, the hosts that requests may be for, in lower case. If empty, any host is allowed.
	AllowedHosts []string
	// AdminPort is ADMIN_PORT, the TCP port for metrics and probes; 0 lets the system choose one, nil means none.
	AdminPort *uint16
	// NodeEnv is NODE_ENV. It is logged at startup and changes nothing (specification, section 1).
	NodeEnv string
	// DataDir is DATA_DIR as an absolute path: the directory of the database file.
	DataDir string
	// ListMemory is LIST_MEMORY_MIB in bytes, the largest list of users that is kept in memory.
	ListMemory int
	// ImportMax is IMPORT_MAX_MIB in bytes, the largest file that can be imported.
	ImportMax int64
	// LogFormat is LOG_FORMAT: "text" (key=value) or "json".
	LogFormat string
	// LogLevel is LOG_LEVEL: lines below it are not written.
	LogLevel slog.Level
	// Backups is BACKUP_EVERY, BACKUP_KEEP and BACKUP_DIR.
	Backups Backups
	// RunAs is RUN_AS, the uid and gid to become if the program was started as root; 0 keeps the user. The container
	// image sets it.
	RunAs uint16
}

// Read returns the configuration, or an error that names the variable, its value and what it accepts. With an error,
// LogFormat and LogLevel are still as requested, or the defaults if they are the mistake, so that the error can be
// logged the way the deployer reads logs.
func Read() (Config, error) {
	env := viper.New()
	env.AutomaticEnv() // an empty variable counts as unset
	env.SetDefault("PORT", "3000")
	env.SetDefault("DATA_DIR", "data")
	env.SetDefault("LIST_MEMORY_MIB", "32")
	env.SetDefault("IMPORT_MAX_MIB", "512")
	env.SetDefault("LOG_FORMAT", "text")
	env.SetDefault("LOG_LEVEL", "info")
	env.SetDefault("BACKUP_KEEP", "7")
	env.SetDefault("RUN_AS", "0")

	config, err := readLog(env)
	if err != nil {
		return config, err
	}
	config.NodeEnv = env.GetString("NODE_ENV")
	if err := config.readSizes(env); err != nil {
		return config, err
	}
	if err := config.readListening(env); err != nil {
		return config, err
	}
	if config.RunAs, err = readNumber(env, "RUN_AS"); err != nil {
		return config, err
	}
	if config.DataDir, err = filepath.Abs(env.GetString("DATA_DIR")); err != nil {
		return config, fmt.Errorf("DATA_DIR is %q and cannot be made absolute: %w", env.GetString("DATA_DIR"), err)
	}
	config.Backups, err = readBackups(env, config.DataDir)
	return config, err
}

// readSizes reads the size limits.
func (c *Config) readSizes(env *viper.Viper) error {
	listMemory, err := readMiB(env, "LIST_MEMORY_MIB")
	if err != nil {
		return err
	}
	c.ListMemory = int(min(listMemory, math.MaxInt)) // a 32-bit int ends below 2048 MiB
	c.ImportMax, err = readMiB(env, "IMPORT_MAX_MIB")
	return err
}

// readListening reads where to listen, and for which hosts.
func (c *Config) readListening(env *viper.Viper) (err error) {
	if c.Port, err = readNumber(env, "PORT"); err != nil {
		return err
	}
	if c.ListenAddress, err = readListenAddress(env); err != nil {
		return err
	}
	if c.AllowedHosts, err = readAllowedHosts(env); err != nil {
		return err
	}
	c.AdminPort, err = readOptionalNumber(env, "ADMIN_PORT")
	return err
}

// readLog returns a configuration with the log settings only.
func readLog(env *viper.Viper) (Config, error) {
	config := Config{LogFormat: "text", LogLevel: slog.LevelInfo}
	format, level := env.GetString("LOG_FORMAT"), env.GetString("LOG_LEVEL")
	if format != "text" && format != "json" {
		return config, fmt.Errorf("LOG_FORMAT is %q: it must be text or json", format)
	}
	config.LogFormat = format
	// slog also accepts "error+4", which hides errors.
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(level)) {
		return config, fmt.Errorf("LOG_LEVEL is %q: it must be debug, info, warn or error", level)
	}
	return config, config.LogLevel.UnmarshalText([]byte(level))
}

// readNumber returns the value of a variable: a decimal number from 0 to 65535.
func readNumber(env *viper.Viper, name string) (uint16, error) {
	number, err := strconv.ParseUint(env.GetString(name), 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: it must be a whole number from 0 to 65535", name, env.GetString(name))
	}
	return uint16(number), nil
}

// readOptionalNumber is readNumber for an optional variable. It returns nil if the variable is unset.
func readOptionalNumber(env *viper.Viper, name string) (*uint16, error) {
	if env.GetString(name) == "" {
		return nil, nil
	}
	number, err := readNumber(env, name)
	return &number, err
}

// readMiB returns the value of a variable in MiB, converted to bytes.
func readMiB(env *viper.Viper, name string) (int64, error) {
	number, err := readNumber(env, name)
	return int64(number) << 20, err
}

// DatabasePath returns the absolute path of the database file.
func (c Config) DatabasePath() string { return filepath.Join(c.DataDir, "users.db") }
