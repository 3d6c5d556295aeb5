package database

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresAddress is what DATABASE_URL says of a database.
type postgresAddress struct {
	hosts              []string // with their ports
	database, username string
	noLimit            string // lifts the server's time limits in a transaction, unless the URL sets them
}

func (a postgresAddress) String() string {
	return fmt.Sprintf("%s (database %q, user %q)", strings.Join(a.hosts, ", "), a.database, a.username)
}

// CheckURL returns an error that names DATABASE_URL if the URL cannot be used.
func (d Location) CheckURL() error {
	if d.URL == "" {
		return nil
	}
	_, _, err := parseURL(d.URL)
	return err
}

// parseURL reads DATABASE_URL. The error never repeats it: the password may be anywhere in it.
func parseURL(text string) (address postgresAddress, config *pgxpool.Config, err error) {
	const what = "DATABASE_URL cannot be used: "
	unreadable := errors.New(what + "it must be one line, postgres://USER:PASSWORD@HOST:5432/DATABASE, and in the user and the " +
		"password the characters : / ? # [ ] @ % and blanks must be written as %3A %2F %3F %23 %5B %5D %40 %25 %20")
	// An unescaped character in a password could make a part of it a host or the name of a database, which are shown.
	rest, isURL := strings.CutPrefix(strings.Replace(text, "postgresql://", "postgres://", 1), "postgres://")
	server, parameters, _ := strings.Cut(rest, "?")
	_, path, _ := strings.Cut(server, "/")
	query, err := url.ParseQuery(strings.ReplaceAll(parameters, "+", "%2B")) // a + is a blank only in a form
	isAmbiguous := strings.ContainsAny(text, "# \t\r\n") || strings.Contains(path+parameters, "@") || strings.Count(server, "@") > 1
	if !isURL || err != nil || isAmbiguous {
		return address, nil, unreadable
	}
	for name, value := range map[string]string{
		"target_session_attrs": "read-write", // of several hosts the primary, after a failover another
		"pool_max_conns":       "8",          // a statement takes 0.1 ms: more would only wait for the server's cores
		"connect_timeout":      "2",          // so that the second host is reached while a request waits
		"application_name":     "users-api",
	} {
		if !query.Has(name) {
			query.Set(name, value)
		}
	}
	config, err = pgxpool.ParseConfig("postgres://" + server + "?" + strings.ReplaceAll(query.Encode(), "+", "%20"))
	if err != nil {
		_, isParsing := errors.AsType[*pgconn.ParseConfigError](err)
		why := err.Error() // the pool's names only its parameter
		if isParsing {
			_, why, _ = strings.Cut(why, "`: ")
		}
		if why == "" || strings.Contains(why, "parse as URL") {
			return address, nil, unreadable
		}
		return address, nil, errors.New(what + why)
	}
	if config.MaxConns < minConnections {
		return address, nil, fmt.Errorf(what+"pool_max_conns is %d, and a process needs at least %d connections: "+
			"raise it, or leave it out", config.MaxConns, minConnections)
	}
	// What is read must not depend on the settings of a role, a database or a server. Every pooler knows these parameters.
	for name, value := range map[string]string{
		"client_encoding": "UTF8", "timezone": "UTC", "datestyle": "ISO", "standard_conforming_strings": "on",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	first := &pgconn.FallbackConfig{Host: config.ConnConfig.Host, Port: config.ConnConfig.Port}
	for _, host := range append([]*pgconn.FallbackConfig{first}, config.ConnConfig.Fallbacks...) {
		if _, at := pgconn.NetworkAddress(host.Host, host.Port); !slices.Contains(address.hosts, at) {
			address.hosts = append(address.hosts, at)
		}
	}
	address.database, address.username = config.ConnConfig.Database, config.ConnConfig.User
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if config.ConnConfig.RuntimeParams[limit] == "" {
			address.noLimit += "SET LOCAL " + limit + " = 0; "
		}
	}
	return address, config, nil
}
