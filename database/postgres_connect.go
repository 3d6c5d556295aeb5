package database

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/semaphore"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"users-api/models"
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
		return nil, p.explain(err, "")
	}
	dialector := postgres.New(postgres.Config{Conn: stdlib.OpenDBFromPool(p.pool)}).(*postgres.Dialector)
	if p.db, err = openGORM(postgresDialector{dialector}, d.Fields); err == nil {
		err = cutTimes(p.db)
	}
	if err == nil {
		err = p.reach(ctx)
	}
	if err == nil {
		err = p.expectServer(ctx)
	}
	if err == nil {
		p.dialect.folded, err = p.foldExpression(ctx)
	}
	if err != nil {
		_ = p.close(ctx) // it only waits for connections
		return nil, p.explain(err, "")
	}
	return p, nil
}

// postgresDialector is GORM's, with PostgreSQL's own type of a time.
type postgresDialector struct{ *postgres.Dialector }

func (d postgresDialector) DataTypeOf(field *schema.Field) string {
	if field.DataType == "datetime" {
		return "timestamptz(0)"
	}
	return d.Dialector.DataTypeOf(field)
}

// cutTimes lets the default of created_at in a table that is created cut fractions off: a timestamptz(0) would round up,
// into the future.
func cutTimes(db *gorm.DB) error {
	users := &gorm.Statement{DB: db}
	err := users.Parse(&models.User{})
	if err == nil {
		users.Schema.LookUpField("created_at").DefaultValue = "date_trunc('second', CURRENT_TIMESTAMP)"
	}
	return err
}

// Migrator returns GORM's, which asks the dialector that it has for the types.
func (d postgresDialector) Migrator(db *gorm.DB) gorm.Migrator {
	migrator := d.Dialector.Migrator(db).(postgres.Migrator)
	migrator.Dialector = d
	return migrator
}

// BindVarTo gives numbers their type: beside an id of type integer, the server would take one beyond it for an integer,
// too.
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
	const pause, sayAgain = time.Second, 10 * time.Second
	said := time.Time{}
	for until := time.Now().Add(startTimeout); ; {
		conn, err := p.pool.Acquire(ctx)
		if err == nil {
			conn.Release()
			return nil
		}
		left := time.Until(until)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped while waiting for the server: %w", err)
		}
		if !isTransient(err) || left < pause {
			return err
		}
		if time.Since(said) >= sayAgain {
			said = time.Now()
			p.logger.Warn("waiting for PostgreSQL", "hosts", strings.Join(p.address.hosts, ", "),
				"database", p.address.database, "user", p.address.username,
				"error", reason(err), "tried_for_another", left.Round(time.Second).String())
		}
		_ = sleep(ctx, pause)
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
