package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// poolSize is the maximum number of connections of this process, unless the URL says otherwise with pool_max_conns. A
// statement takes about 0.1 ms, so more connections would only wait for the server's cores; and three processes fit on
// a server that allows few connections.
const poolSize = 8

// minPoolSize is how many connections a process needs: two for creations, one for an import, a search or a change, and
// one for reads beside it.
const minPoolSize = writers + 2

// connectTime is how long one host may take to accept a connection, unless the URL says otherwise with connect_timeout.
// It is short, so that the second host is reached while a request waits.
const connectTime = 2 * time.Second

// address is where the database is, in a form that may be shown, and how pgx connects to it.
type address struct {
	hosts          []string // with their ports
	database, user string
	pool           *pgxpool.Config
	cancelTime     time.Duration // how long a server has to confirm that it has ended a statement
}

// Location returns the hosts, ports and name of the database in a URL that Open takes, never the user and password.
func Location(url string) string {
	where, err := parseAddress(url)
	if err != nil {
		return "PostgreSQL"
	}
	return "postgres://" + strings.Join(where.hosts, ",") + "/" + where.database
}

// String describes the address without the password.
func (a address) String() string {
	return fmt.Sprintf("%s (database %q, user %q)", strings.Join(a.hosts, ", "), a.database, a.user)
}

// errNoURL does not repeat the URL: the password may be anywhere in it.
var errNoURL = errors.New("the URL of the database cannot be read: it must be " +
	"postgres://USER:PASSWORD@HOST:5432/DATABASE, and in the user and the password the characters : / ? # [ ] @ % must be written as %3A %2F %3F %23 %5B %5D %40 %25")

// parseAddress parses the URL of a primary: of several hosts, the one that accepts writes, after a failover another.
func parseAddress(text string) (address, error) { return parseURL(text, "read-write") }

func parseURL(text, target string) (address, error) {
	query, err := readable(text)
	if err != nil {
		return address{}, err
	}
	var added []string
	for name, value := range map[string]string{
		"target_session_attrs": target,
		"pool_max_conns":       strconv.Itoa(poolSize),
		"connect_timeout":      strconv.Itoa(int(connectTime.Seconds())),
		"application_name":     "users-api",
	} {
		if !query.Has(name) {
			added = append(added, name+"="+value)
		}
	}
	separator := "?"
	if strings.Contains(text, "?") {
		separator = "&"
	}
	config, err := pgxpool.ParseConfig(text + separator + strings.Join(added, "&"))
	if err != nil {
		return address{}, explainURL(err)
	}
	if config.MaxConns < minPoolSize {
		return address{}, fmt.Errorf("the URL of the database cannot be used: pool_max_conns is %d, and a process needs "+
			"at least %d connections: raise it, or leave it out", config.MaxConns, minPoolSize)
	}
	// Text is sent as UTF-8, whatever the database's own encoding is. Every pooler knows this parameter.
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	return address{hostsOf(&config.ConnConfig.Config), config.ConnConfig.Database, config.ConnConfig.User, config, cancelTime}, nil
}

// readable returns the parameters of a URL whose parts are unambiguous. Otherwise an unescaped character in a password
// could make a part of it a host or the name of a database, which are shown.
func readable(text string) (url.Values, error) {
	rest, isURL := strings.CutPrefix(text, "postgres://")
	if !isURL {
		rest, isURL = strings.CutPrefix(text, "postgresql://")
	}
	place, parameters, _ := strings.Cut(rest, "?")
	_, path, _ := strings.Cut(place, "/")
	query, err := url.ParseQuery(parameters)
	if !isURL || err != nil || strings.Contains(text, "#") || strings.Contains(path, "@") || strings.Contains(parameters, "@") ||
		strings.Count(place, "@") > 1 {
		return nil, errNoURL
	}
	return query, nil
}

// explainURL returns what pgx says about a URL, without the URL.
func explainURL(err error) error {
	failed, ok := errors.AsType[*pgconn.ParseConfigError](err)
	if !ok {
		return fmt.Errorf("the URL of the database cannot be used: %w", err) // the pool's: it names only its parameter
	}
	_, why, found := strings.Cut(failed.Error(), "`: ")
	if !found || strings.Contains(why, "parse as URL") {
		return errNoURL
	}
	return fmt.Errorf("the URL of the database cannot be used: %s", why)
}

// hostsOf returns the hosts with their ports, each once: pgx repeats each to try it without TLS.
func hostsOf(config *pgconn.Config) []string {
	hosts := []string{hostAndPort(config.Host, config.Port)}
	for _, other := range config.Fallbacks {
		if host := hostAndPort(other.Host, other.Port); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// hostAndPort formats an address. A host may be the directory of a Unix socket.
func hostAndPort(host string, port uint16) string {
	_, address := pgconn.NetworkAddress(host, port)
	return address
}
