// Package config reads the environment, once, into a checked [Config].
//
// Everything a deployer can set is a field here, with its variable, its default and what it accepts. Values are
// read as text and parsed strictly, because viper's own number getters turn a mistake such as PORT=abc into 0
// without an error, and 0 is a random port.
package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/spf13/viper"
)

// Config is the environment after it was checked.
type Config struct {
	// Port is PORT, the TCP port to listen on; 0 lets the system choose a free one.
	Port uint16
	// NodeEnv is NODE_ENV. It is logged at the start and changes nothing (specification, section 1).
	NodeEnv string
	// DataDir is DATA_DIR as an absolute path: the directory of the database file.
	DataDir string
	// ListMemory is LIST_MEMORY_MIB in bytes: how large the list of users may be and still be kept in memory.
	ListMemory int
	// LogFormat is LOG_FORMAT: "text" (key=value) or "json".
	LogFormat string
	// LogLevel is LOG_LEVEL: lines below it are not written.
	LogLevel slog.Level
	// RunAs is RUN_AS: the uid and gid to become when the program was started as root; 0 keeps the user.
	// The container image sets it.
	RunAs uint16
}

// Read returns the configuration, or an error that names the variable, its value and what it may be.
func Read() (Config, error) {
	env := viper.New()
	env.AutomaticEnv() // an empty variable counts as unset
	env.SetDefault("PORT", "3000")
	env.SetDefault("DATA_DIR", "data")
	env.SetDefault("LIST_MEMORY_MIB", "32")
	env.SetDefault("LOG_FORMAT", "text")
	env.SetDefault("LOG_LEVEL", "info")
	env.SetDefault("RUN_AS", "0")

	config := Config{NodeEnv: env.GetString("NODE_ENV"), LogFormat: env.GetString("LOG_FORMAT")}
	if config.LogFormat != "text" && config.LogFormat != "json" {
		return Config{}, fmt.Errorf("LOG_FORMAT is %q: it must be text or json", config.LogFormat)
	}
	if err := config.LogLevel.UnmarshalText([]byte(env.GetString("LOG_LEVEL"))); err != nil {
		return Config{}, fmt.Errorf("LOG_LEVEL is %q: it must be debug, info, warn or error", env.GetString("LOG_LEVEL"))
	}
	listMemory, err := readNumber(env, "LIST_MEMORY_MIB")
	if err != nil {
		return Config{}, err
	}
	config.ListMemory = int(listMemory) << 20
	if config.Port, err = readNumber(env, "PORT"); err != nil {
		return Config{}, err
	}
	if config.RunAs, err = readNumber(env, "RUN_AS"); err != nil {
		return Config{}, err
	}
	if config.DataDir, err = filepath.Abs(env.GetString("DATA_DIR")); err != nil {
		return Config{}, fmt.Errorf("DATA_DIR is %q and cannot be made absolute: %w", env.GetString("DATA_DIR"), err)
	}
	return config, nil
}

// readNumber returns a variable that holds a decimal from 0 to 65535.
func readNumber(env *viper.Viper, name string) (uint16, error) {
	number, err := strconv.ParseUint(env.GetString(name), 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: it must be a whole number from 0 to 65535", name, env.GetString(name))
	}
	return uint16(number), nil
}

// DatabasePath returns the absolute path of the database file.
func (c Config) DatabasePath() string { return filepath.Join(c.DataDir, "users.db") }
