package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A server that stood still while a standby took its place goes on as if nothing had happened, and accepts writes until
// something stops it. What it shows is old. A standby that takes over begins a new timeline, so of several hosts, one that is
// on an older timeline of the same cluster than this process has seen is passed over.
type timelines struct {
	mu     sync.Mutex
	newest map[string]string // the newest timeline, in hexadecimal digits of one length, by the cluster's identifier
	pool   *pgxpool.Pool
}

// askTimeline returns no row on a standby, which has not begun a timeline of its own.
const askTimeline = `SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()
	WHERE NOT pg_is_in_recovery()`

var errOldTimeline = errors.New("the PostgreSQL server that took the place of another cannot be reached")

// watch opens the pool whose connections are closed when a newer timeline is seen. It may connect at once.
func (l *timelines) watch(open func() (*pgxpool.Pool, error)) (pool *pgxpool.Pool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pool, err = open()
	return l.pool, err
}

// passOver returns a check of a new connection, after the one that the URL asks for.
func (l *timelines) passOver(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		asked := conn.ExecParams(ctx, askTimeline, nil, nil, nil, nil).Read()
		switch code := sqlState(asked.Err); {
		case code == codeNoRight, asked.Err == nil && len(asked.Rows) == 0:
			return nil
		case asked.Err != nil:
			return asked.Err
		}
		return l.see(string(asked.Rows[0][0]), string(asked.Rows[0][1]))
	}
}

func (l *timelines) see(cluster, timeline string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.newest[cluster]
	switch {
	case timeline < newest:
		return errOldTimeline
	case timeline > newest && newest != "":
		l.pool.Reset()
	}
	l.newest[cluster] = timeline
	return nil
}
