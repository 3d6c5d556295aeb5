package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// standbys answer reads of many users in place of the primary, and show no less than it would: a read asks the primary how
// far its log is (position.go), waits until a standby has replayed that much, and takes its snapshot only then (catch_up.go).
// Whatever keeps a standby from that, or from answering, the primary answers.
type standbys struct {
	servers   []*standby
	positions shared[position]
	logger    *slog.Logger
	next      atomic.Uint32 // reads take turns

	answered, passed atomic.Uint64 // reads that a standby has answered, and that the primary had to
}

type standby struct {
	*database
	skipped atomic.Int64           // until when it is not asked, in Unix nanoseconds; 0 while it answers
	problem atomic.Pointer[string] // why it does not answer, as the log has it
}

// A read waits for a standby for patience at most, and reads a page for no longer either: the primary answers then. A standby
// that has failed is left alone for skipTime, so that only one read in that time waits for one that is away.
const (
	patience = 200 * time.Millisecond
	skipTime = 3 * time.Second
)

// standbyError says why a standby cannot answer.
type standbyError struct{ why string }

func (e standbyError) Error() string { return e.why }

// errLate: a standby has not replayed enough in time. This may happen at any time, so it is counted and not logged.
var errLate = standbyError{"it has not replayed enough of the primary's log"}

// parseStandbys returns the address of each host of a URL.
func parseStandbys(url string) (hosts []address, err error) {
	if url == "" {
		return nil, nil
	}
	all, err := parseURL(url, "any") // each read asks what the server is
	if err != nil {
		return nil, fmt.Errorf("DATABASE_READ_URL: %w", err)
	}
	return all.split(), nil
}

// split returns an address for each host. A connection to one that is cut off is lost within some seconds, and no read waits
// until a standby has confirmed that it has ended a statement.
func (a address) split() (hosts []address) {
	config := &a.pool.ConnConfig.Config
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, name := range a.hosts {
		one := address{[]string{name}, a.database, a.user, a.pool.Copy(), 20 * time.Millisecond}
		to := &one.pool.ConnConfig.Config
		to.Fallbacks = nil
		for _, way := range ways {
			if hostAndPort(way.Host, way.Port) == name {
				to.Fallbacks = append(to.Fallbacks, way)
			}
		}
		to.Host, to.Port, to.TLSConfig = to.Fallbacks[0].Host, to.Fallbacks[0].Port, to.Fallbacks[0].TLSConfig
		to.Fallbacks = to.Fallbacks[1:]
		alive := net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}
		to.DialFunc = (&net.Dialer{Timeout: to.ConnectTimeout, KeepAliveConfig: alive}).DialContext
		hosts = append(hosts, one)
	}
	return hosts
}

// openStandbys returns the standbys at some addresses. It waits for none of them: beside the start, each is tried once, so
// that the log tells of a mistake.
func openStandbys(ctx context.Context, hosts []address, primary *database, logger *slog.Logger) (*standbys, error) {
	s := &standbys{logger: logger}
	s.positions.ask = primary.position
	for _, where := range hosts {
		d, err := newDatabase(ctx, where, primary.fields)
		if err != nil {
			s.close(ctx)
			return nil, err
		}
		s.servers = append(s.servers, &standby{database: d})
	}
	for _, server := range s.servers {
		go func() { // the log says what is wrong
			_, _ = s.try(context.WithoutCancel(ctx), server, listing, func(ctx context.Context, wanted use, d *database) error {
				return d.on(ctx, wanted, func(ctx context.Context, conn connection) error {
					return conn.inTransaction(ctx, conn.beginSnapshot(), func() error { return nil })
				})
			})
		}()
	}
	return s, nil
}

func (s *standbys) close(ctx context.Context) {
	if s == nil {
		return
	}
	for _, server := range s.servers {
		server.close(ctx)
	}
}

func (s *standbys) fill(stats *models.Stats) {
	if s != nil {
		stats.ByStandby, stats.ByPrimary = s.answered.Load(), s.passed.Load()
	}
}

// answer runs a read on a standby, and reports whether that has answered it. If not, the primary must.
func (s *standbys) answer(ctx context.Context, wanted use, run func(context.Context, use, *database) error) (bool, error) {
	begun := time.Now()
	server, release := s.pick(ctx, wanted)
	defer release()
	if server != nil {
		answered, err := s.try(ctx, server, wanted, run)
		if answered || ctx.Err() != nil || time.Since(begun) > wanted.limit {
			s.answered.Add(1)
			return true, err
		}
	}
	s.passed.Add(1)
	return false, nil
}

// pick returns the next standby that answers, or nil, with a search slot if the read needs one: one that is free, or else the
// first that becomes free.
func (s *standbys) pick(ctx context.Context, wanted use) (server *standby, release func()) {
	first := int(s.next.Add(1))
	for i := range s.servers {
		next := s.servers[(first+i)%len(s.servers)]
		switch {
		case wanted.searches && !next.searching.TryAcquire(1):
			if server == nil && next.skipped.Load() == 0 {
				server = next
			}
		case next.isAsked():
			return next, func() {
				if wanted.searches {
					next.searching.Release(1)
				}
			}
		case wanted.searches:
			next.searching.Release(1)
		}
	}
	limited, cancel := context.WithTimeout(ctx, wanted.limit)
	defer cancel()
	if server == nil || server.searching.Acquire(limited, 1) != nil {
		return nil, func() {}
	}
	return server, func() { server.searching.Release(1) }
}

// isAsked reports whether a read may ask a standby: it has not failed, or the time is over in which it is left alone. Then one
// read tries it, and the others after that has succeeded.
func (s *standby) isAsked() bool {
	now, until := time.Now(), s.skipped.Load()
	return until == 0 || until < now.UnixNano() && s.skipped.CompareAndSwap(until, now.Add(skipTime).UnixNano())
}

// try runs a read on one standby, and reports whether that has answered it.
func (s *standbys) try(ctx context.Context, server *standby, wanted use, run func(context.Context, use, *database) error) (
	answered bool, err error) {
	until := time.Now().Add(patience)
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(patience, cancel)
	defer late.Stop()
	primary, err := s.positions.get(limited)
	if err != nil {
		return false, err // the primary says why
	}
	wanted.after = &catchUp{primary: primary, positions: &s.positions, until: until, begun: func() {
		if wanted.limit > answerTime {
			late.Stop()
		} else {
			late.Reset(patience)
		}
	}}
	err = run(limited, wanted, server.database)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, err
	case err != nil && limited.Err() != nil:
		err = standbyError{"it did not answer in time"}
	case !isStandbys(err):
		s.works(server)
		return true, err
	}
	s.skip(server, err)
	return false, err
}

// isStandbys reports whether a standby is to blame for an error, or may be. It is not if no server would answer.
func isStandbys(err error) bool {
	if _, ok := errors.AsType[standbyError](err); ok {
		return true
	}
	failed, ok := errors.AsType[*models.StorageError](err)
	return ok && failed.Code != "spool" && class(failed.Code) != classData && class(failed.Code) != classLimits
}

// skip leaves a standby alone for a while.
func (s *standbys) skip(server *standby, err error) {
	server.skipped.Store(time.Now().Add(skipTime).UnixNano())
	why := err.Error()
	if failed, ok := errors.AsType[*models.StorageError](err); ok {
		why = fmt.Sprintf("%s (SQLSTATE %s)", failed.Meaning, failed.Code) // which holds no user data
	}
	if errors.Is(err, errLate) || server.closed.Load() {
		return
	}
	if last := server.problem.Swap(&why); last == nil || *last != why {
		s.logger.Warn("a standby does not answer reads: the primary does", "host", server.where.hosts[0], "error", why)
	}
}

// works notes that a standby has answered.
func (s *standbys) works(server *standby) {
	if server.skipped.Load() != 0 {
		server.skipped.Store(0)
	}
	if server.problem.Load() != nil && server.problem.Swap(nil) != nil {
		s.logger.Info("a standby answers reads again", "host", server.where.hosts[0])
	}
}
