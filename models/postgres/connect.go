package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"users-api/models"
)

// connectTimeout is how long startup tries a server that is not there yet, pause is the time between two attempts, and
// sayAgain is the time between two lines in the log.
const (
	connectTimeout = 30 * time.Second
	pause          = time.Second
	sayAgain       = 10 * time.Second
)

// idleTime is how long an unused connection stays open: a busy service keeps its connections, and an idle one leaves
// room for others.
const idleTime = 5 * time.Minute

// connect connects to the server. It retries a server that is starting or not there yet: a container may start at the
// same moment as its database.
func connect(ctx context.Context, where address, fields models.Fields, logger *slog.Logger) (*database, error) {
	d, err := newDatabase(ctx, where, fields)
	if err != nil {
		return nil, err
	}
	if err := d.reach(ctx, logger); err != nil {
		d.close(ctx)
		return nil, err
	}
	return d, nil
}

// newDatabase returns the database at an address. Nothing is connected yet.
func newDatabase(ctx context.Context, where address, fields models.Fields) (*database, error) {
	config := where.pool
	config.AfterConnect = prepareSession
	config.ConnConfig.OnNotice = noticeUnconfirmed
	config.MaxConnIdleTime = idleTime
	config.PingTimeout = connectTime
	config.ConnConfig.BuildContextWatcherHandler = cancelling(where.cancelTime)
	seen := &timelines{newest: map[string]string{}}
	if len(where.hosts) > 1 { // otherwise there is no other server to turn to
		config.ConnConfig.ValidateConnect = seen.passOver(config.ConnConfig.ValidateConnect)
	}
	pool, err := seen.watch(func() (*pgxpool.Pool, error) { return pgxpool.NewWithConfig(context.WithoutCancel(ctx), config) })
	if err != nil {
		return nil, explain(where, err)
	}
	others := int64(config.MaxConns) - writers
	d := &database{
		where: where, fields: fields, pool: pool,
		free: semaphore.NewWeighted(others), slow: semaphore.NewWeighted(others - 1),
		changing: semaphore.NewWeighted(max(1, others/2)), importing: semaphore.NewWeighted(1),
		searching: semaphore.NewWeighted(max(1, min(others/3, int64(runtime.GOMAXPROCS(0)-1)))),
	}
	d.ended, d.end = context.WithCancel(context.WithoutCancel(ctx))
	return d, nil
}

// cancelling tells the server to end a statement that is no longer waited for, and waits until the server confirms it:
// then a write is known not to be stored.
func cancelling(within time.Duration) func(*pgconn.PgConn) ctxwatch.Handler {
	return func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: within}
	}
}

func (d *database) reach(ctx context.Context, logger *slog.Logger) error {
	said := time.Time{}
	for until := time.Now().Add(connectTimeout); ; {
		conn, err := d.pool.Acquire(ctx)
		if err == nil {
			conn.Release()
			return nil
		}
		left := time.Until(until)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped while waiting for PostgreSQL at %s: %w", d.where, err)
		}
		if !mayCome(err) || left < pause {
			return explain(d.where, err)
		}
		if time.Since(said) >= sayAgain {
			said = time.Now()
			logger.Warn("waiting for PostgreSQL", "hosts", strings.Join(d.where.hosts, ", "),
				"database", d.where.database, "user", d.where.user, "error", reason(err),
				"tried_for_another", left.Round(time.Second).String())
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// oldest is the oldest version that is served. It has pg_current_snapshot.
const oldest = 130000

func (d *database) expectServer(ctx context.Context) error {
	return d.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		var version int
		if err := conn.value(ctx, &version, serverVersion); err != nil {
			return err
		}
		if version < oldest {
			return fmt.Errorf("it is version %d.%d: 13 or newer is needed", version/10000, version/100%100)
		}
		var encoding string
		err := conn.value(ctx, &encoding, serverEncoding)
		if err == nil && encoding != "UTF8" {
			err = fmt.Errorf("its encoding is %s, which cannot hold every name: create a database with "+
				"`createdb --encoding=UTF8 --template=template0 -O %s NAME`, move the data there with pg_dump and pg_restore, "+
				"and name it in the URL", encoding, d.where.user)
		}
		return err
	})
}

// risks are what makes an acknowledged write less durable than it should be: the query that detects it, its cause, and
// its risk.
var risks = []struct{ condition, cause, risk string }{
	{"SELECT current_setting('synchronous_commit') = 'off'", "synchronous_commit is off",
		"a crash of the server loses the last writes that were answered"},
	{"SELECT current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> ''",
		"synchronous_commit is local, and there is a synchronous standby",
		"a standby that takes over lacks the last writes that were answered"},
	{"SELECT current_setting('fsync') = 'off'", "fsync is off", "a crash of the machine loses or damages the database"},
	{"SELECT current_setting('full_page_writes') = 'off'", "full_page_writes is off",
		"a crash of the machine may damage the database"},
	{unlogged, "the table users, or a part of it, is UNLOGGED", "a crash of the server empties it, and standbys do not have it"},
}

func (d *database) warn(ctx context.Context, logger *slog.Logger) error {
	return d.on(ctx, lookup, func(ctx context.Context, conn connection) error {
		for _, r := range risks {
			holds := false
			if err := conn.value(ctx, &holds, r.condition); err != nil {
				return err
			}
			if holds {
				logger.Warn("PostgreSQL may lose what it has stored", "cause", r.cause, "risk", r.risk)
			}
		}
		return nil
	})
}
