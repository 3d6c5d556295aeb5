// Package config reads the environment, once, into a checked [Config].
//
// Every setting is a field here, except the keys and the URL of the database, which are secret and read separately.
// Values are read as text and parsed strictly: viper's own getters turn a mistake such as PORT=abc into 0 without an
// error, and 0 is a random port.
package config

import (
	"log/slog"
	"math"
	"net"
	"path/filepath"
	"time"

	"github.com/spf13/viper"
)

// Config holds the checked settings.
type Config struct {
	Port          uint16        // PORT, the TCP port to listen on; 0 lets the system choose a free one
	ListenAddress string        // LISTEN_ADDRESS, the one IP address to listen on; "" means all addresses
	Publish       string        // PUBLISH, where compose publishes the port on its machine; "" without compose
	AllowedHosts  []string      // ALLOWED_HOSTS, the hosts that requests may be for, in lower case; none means any host
	AdminPort     *uint16       // ADMIN_PORT, for metrics and probes; 0 lets the system choose one, nil means none
	NodeEnv       string        // NODE_ENV, logged at startup; it changes nothing (specification, section 1)
	DataDir       string        // DATA_DIR, the directory of the database file, as an absolute path
	ListMemory    int           // LIST_MEMORY_MIB in bytes, the largest list of users that is kept in memory
	ImportMax     int64         // IMPORT_MAX_MIB in bytes, the largest file that can be imported
	LogFormat     string        // LOG_FORMAT: "text" (key=value) or "json"
	LogLevel      slog.Level    // LOG_LEVEL: lines below it are not written
	UserFields    []string      // USER_FIELDS, the names of the fields besides name and email, as they were written
	ChangesKeep   time.Duration // CHANGES_KEEP, how long what was written is kept on record; 0 records nothing
	People        *People       // those whom a proxy with a key of PROXY_KEY names; nil without one
	Backups       Backups
	RunAs         uint16 // RUN_AS, the uid and gid to become if started as root (the container image); 0 keeps the user
}

// Read returns the configuration, or an error that names the variable, its value and what it accepts. With an error,
// LogFormat and LogLevel are still as requested, or the defaults if they are the mistake, so that the error can be
// logged the way the deployer reads logs.
func Read() (Config, error) {
	env := &variables{Viper: viper.New()}
	env.AutomaticEnv() // an empty variable counts as unset
	for _, setting := range Settings() {
		env.SetDefault(setting.Name, setting.Default)
	}
	config := Config{
		LogFormat:     env.oneOf("LOG_FORMAT", "text", "json"),
		NodeEnv:       env.GetString("NODE_ENV"),
		ListMemory:    int(min(env.mebibytes("LIST_MEMORY_MIB"), math.MaxInt)), // a 32-bit int ends below 2048 MiB
		ImportMax:     env.mebibytes("IMPORT_MAX_MIB"),
		Port:          env.number("PORT", 0),
		ListenAddress: env.listenAddress(),
		Publish:       env.GetString("PUBLISH"),
		AllowedHosts:  env.allowedHosts(),
		RunAs:         env.number("RUN_AS", 0),
		DataDir:       env.absolutePath("DATA_DIR"),
		UserFields:    env.list("USER_FIELDS"),
	}
	_ = config.LogLevel.UnmarshalText([]byte(env.oneOf("LOG_LEVEL", "info", "debug", "warn", "error")))
	if env.GetString("CHANGES_KEEP") != "0" {
		config.ChangesKeep = env.duration("CHANGES_KEEP", time.Hour, "720h or 48h, or 0 to record nothing")
	}
	config.People = env.people()
	config.Backups = env.backups(config.DataDir)
	if net.ParseIP(config.ListenAddress).IsLoopback() && config.Publish != "" {
		env.refuse("LISTEN_ADDRESS", ", which nobody outside of the container reaches: with compose, set PUBLISH instead")
	}
	if env.GetString("ADMIN_PORT") != "" {
		config.AdminPort = new(env.number("ADMIN_PORT", 0))
	}
	return config, env.mistake
}

func (c Config) DatabasePath() string { return filepath.Join(c.DataDir, "users.db") }

// PublishedHere reports whether compose publishes the port on its machine alone.
func (c Config) PublishedHere() bool {
	host, _, _ := net.SplitHostPort(c.Publish)
	return net.ParseIP(host).IsLoopback()
}
