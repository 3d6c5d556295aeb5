package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/semaphore"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// connectPostgres connects to the database, whatever is in it. It retries a server that is starting or not there yet: a
// container may start at the same moment as its database.
func connectPostgres(ctx context.Context, d Location, ended context.Context) (*postgresPool, error) {
	address, config, err := parseURL(d.URL)
	if err != nil {
		return nil, err
	}
	p := &postgresPool{address: address, logger: d.Logger, ended: ended, commits: newCommits()}
	config.MaxConnIdleTime = 5 * time.Minute // an idle service leaves room for others
	config.ShouldPing = func(ctx context.Context, idle pgxpool.ShouldPingParams) bool {
		if idle.IdleDuration < time.Second {
			return false
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		isLost := idle.Conn.Ping(ctx) != nil // and closed: the pool finds that out at once
		if isLost {
			p.pool.Reset() // a network that has forgotten this connection has forgotten the others, too
		}
		return isLost
	}
	config.ConnConfig.OnNotice = func(conn *pgconn.PgConn, notice *pgconn.Notice) {
		if notice.Routine == "SyncRepWaitForLSN" { // the message may be in any language, but not the name of the function
			conn.CustomData()[unconfirmed] = true
		}
	}
	dialer := net.Dialer{Timeout: config.ConnConfig.ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4, // for a network that was cut
	}}
	config.ConnConfig.DialFunc = dialer.DialContext
	p.busy = semaphore.NewWeighted(int64(config.MaxConns - 1))
	p.writing = semaphore.NewWeighted(int64(min(config.MaxConns*3/4, config.MaxConns-2)))
	if p.pool, err = pgxpool.NewWithConfig(p.ended, config); err != nil {
		return nil, p.explain(err)
	}
	dialector := postgres.New(postgres.Config{Conn: stdlib.OpenDBFromPool(p.pool)}).(*postgres.Dialector)
	p.db, err = gorm.Open(postgresDialector{dialector}, &gorm.Config{
		SkipDefaultTransaction: true, Logger: logger.Discard, DisableAutomaticPing: true,
	})
	if err == nil {
		err = addColumns(p.db, d.Fields)
	}
	for _, step := range []func(context.Context) error{p.reach, p.expectServer, p.findFold} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		_ = p.close(ctx) // it only waits for connections
		return nil, p.explain(err)
	}
	return p, nil
}

// postgresDialector is GORM's, but gives numbers their type: beside an id of type integer, the server would take one beyond
// it for an integer, too.
type postgresDialector struct{ *postgres.Dialector }

func (d postgresDialector) BindVarTo(writer clause.Writer, statement *gorm.Statement, value any) {
	d.Dialector.BindVarTo(writer, statement, value)
	if _, ok := value.(int64); ok {
		_, _ = writer.WriteString("::int8")
	}
}

// hiddenLimit makes the planner not see the limit of a query: see [postgresDialect.seek].
type hiddenLimit struct{ clause.Limit }

func (hiddenLimit) MergeClause(merged *clause.Clause) {
	merged.Builder = func(c clause.Clause, builder clause.Builder) {
		limit, _ := c.Expression.(clause.Limit)
		if limit.Limit != nil && *limit.Limit != noLimit {
			clause.Expr{SQL: "LIMIT (SELECT ?) ", Vars: []any{int64(*limit.Limit)}}.Build(builder)
		}
		clause.Limit{Offset: limit.Offset}.Build(builder)
	}
}

// reach returns when the server can be reached, or why it cannot.
func (p *postgresPool) reach(ctx context.Context) error {
	until := time.Now().Add(startTimeout)
	for tries := 0; ; tries++ {
		err := p.pool.Ping(ctx)
		left := time.Until(until)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("stopped while waiting for the server: %w", ctx.Err())
		case err == nil, !isTransient(err), left < time.Second:
			return err
		case tries%10 == 0:
			p.logger.Warn("waiting for PostgreSQL", "hosts", strings.Join(p.address.hosts, ", "),
				"database", p.address.database, "user", p.address.username,
				"error", reason(err), "tried_for_another", left.Round(time.Second).String())
		}
		_ = sleep(ctx, time.Second)
	}
}

func sleep(ctx context.Context, howLong time.Duration) error {
	select {
	case <-time.After(howLong):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// postgresAddress is what DATABASE_URL says of a database.
type postgresAddress struct {
	hosts              []string // with their ports
	database, username string
	noLimit            string // lifts the server's limits in a transaction: those of time, unless the URL sets them
}

func (a postgresAddress) String() string {
	return fmt.Sprintf("%s (database %q, user %q)", strings.Join(a.hosts, ", "), a.database, a.username)
}

// CheckURL returns an error that names DATABASE_URL if the URL cannot be used.
func CheckURL(text string) error {
	_, _, err := parseURL(text)
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
	address.noLimit = "SET LOCAL gin_fuzzy_search_limit = 0; " // of what an index of searches finds
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if config.ConnConfig.RuntimeParams[limit] == "" {
			address.noLimit += "SET LOCAL " + limit + " = 0; "
		}
	}
	return address, config, nil
}
