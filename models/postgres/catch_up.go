package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// position is how far the primary was at a moment, and what a standby of it must have in common with it.
type position struct {
	started  string // when the server was started
	cluster  string // with the database
	timeline string // of the log: another begins when a standby is promoted
	log      int64  // the end of the log
	users    string // the table, with the user if it shows each user other rows
	snapshot string
	table    table
}

// position asks the primary for its position. What the cluster is has not changed if the server is the same as before.
func (d *database) position(before position) (now position, err error) {
	err = d.on(context.Background(), use{limit: patience, brief: true}, func(ctx context.Context, conn connection) error {
		now.table = d.checked.Load().table // which was checked before this
		return conn.query(ctx, func(rows pgx.Rows) error {
			return rows.Scan(&now.started, &now.cluster, &now.timeline, &now.log, &now.users, &now.snapshot)
		}, askPosition, before.started)
	})
	if now.cluster == "" {
		now.cluster = before.cluster
	}
	return now, err
}

// catchUp lets a transaction on a standby begin once the standby shows what the primary showed before.
type catchUp struct {
	primary   position // asked for after the read was requested
	positions *shared[position]
	until     time.Time
	begun     func()
}

// begin begins a transaction with statements, of which the last takes its snapshot, before the question whether it shows more.
//
// A standby applies a commit before it says that it has replayed it, so a snapshot that is taken after that answer shows the
// commit. Both are in one message, which a pooler gives to one server.
func (u *catchUp) begin(ctx context.Context, conn connection, begin string) error {
	message := beginRead + conn.timeouts() + askReplayed + "; COMMIT; " + begin + "; " + showsMore("'"+u.primary.snapshot+"'")
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		results, err := conn.PgConn().Exec(ctx, message).ReadAll()
		var rows [][][]byte
		for _, result := range results {
			rows = append(rows, result.Rows...)
		}
		if len(rows) == 0 {
			return err
		}
		replayed, refused := u.replayed(rows[0])
		switch {
		case refused != nil:
			return refused
		case replayed && err != nil: // before that, there may be no table
			return err
		case replayed && string(rows[len(rows)-1][0]) == "f":
			u.begun()
			return nil
		case replayed:
			return u.settle(ctx, conn)
		}
		if err := conn.simple(ctx, rollBack); err != nil {
			return err
		}
		if err := u.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// replayed reports whether a server is a standby of the primary and has replayed enough. A position in the log means the same
// on one timeline alone: an old primary, which has become a standby, may have written something else there.
func (u *catchUp) replayed(row [][]byte) (bool, error) {
	recovering, cluster, timeline := string(row[0]) == "t", string(row[1]), string(row[2])
	log, err := strconv.ParseInt(string(row[3]), 10, 64)
	switch {
	case !recovering:
		return false, standbyError{"it is not a standby"}
	case cluster != u.primary.cluster:
		return false, standbyError{"it is not a standby of the server in DATABASE_URL, or has another database"}
	case timeline != u.primary.timeline:
		return false, standbyError{"it is on timeline " + timeline + " and the primary on " + u.primary.timeline}
	case err != nil || log < u.primary.log:
		return false, nil
	case string(row[4]) != u.primary.users:
		return false, standbyError{"its search path or row security leads to other users"}
	}
	return true, nil
}

// settle returns when the primary shows all that the transaction shows. A commit is in the log, and with it on the standby,
// before the primary shows it, and for as long as it waits for a synchronous standby. A read that showed it and a later one,
// on the primary, that did not would make time run backwards.
func (u *catchUp) settle(ctx context.Context, conn connection) error {
	for {
		now, err := u.positions.get(ctx)
		if err != nil {
			return err
		}
		if now.cluster != u.primary.cluster || now.timeline != u.primary.timeline {
			return standbyError{"another primary has taken over"}
		}
		more := false
		if err := conn.value(ctx, &more, showsMore("$1::text"), now.snapshot); err != nil {
			return err
		}
		if !more {
			u.begun()
			return nil
		}
		if err := u.sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

func (u *catchUp) sleep(ctx context.Context, howLong time.Duration) error {
	if time.Until(u.until) < howLong {
		return errLate
	}
	return sleep(ctx, howLong)
}

// timeline returns that of the primary's log for a transaction on a standby, which cannot tell, and nil on the primary.
func (u *catchUp) timeline() *string {
	if u == nil {
		return nil
	}
	return &u.primary.timeline
}

// What a primary and its standby have in common, and once that has replayed enough.
const (
	sameCluster = "concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), current_database())"
	sameUsers   = "concat_ws(' ', to_regclass('users')::oid, CASE WHEN row_security_active(to_regclass('users')) THEN current_user END)"
)

// askPosition asks for the end of the log as it was inserted, not as it was written or flushed: with synchronous_commit=off, a
// commit is visible and was answered before it is written. What is visible to this statement was inserted before its snapshot
// was taken, and so before the position is.
//
// At the beginning of a page the position is after the header that the next record will have (24 bytes, or 40 in the first
// page of a file), while that which a standby has replayed ends before it.
//
// To read the control file takes as long as all the rest, so it is asked for the cluster only if another server than $1 answers.
const askPosition = `SELECT pg_postmaster_start_time()::text,
	CASE WHEN pg_postmaster_start_time()::text = $1 THEN '' ELSE ` + sameCluster + ` END,
	left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
	CASE _end % current_setting('wal_block_size')::int8 WHEN 24 THEN _end - 24
		WHEN 40 THEN CASE _end % pg_size_bytes(current_setting('wal_segment_size')) WHEN 40 THEN _end - 40 ELSE _end END
		ELSE _end END, ` + sameUsers + `, pg_current_snapshot()::text
	FROM (SELECT (pg_current_wal_insert_lsn() - '0/0')::int8 AS _end OFFSET 0) AS _log`

// askReplayed asks a server whether it is a standby, of what, on which timeline, and what it has replayed. A standby does not
// tell its timeline: its control file and its receiver say which one it has certainly reached. The receiver, of which only
// members of pg_read_all_stats learn, does so at once, and the control file some time after a promotion.
const askReplayed = `SELECT pg_is_in_recovery(), ` + sameCluster + `, upper(lpad(to_hex(GREATEST(
		(SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()),
		(SELECT received_tli FROM pg_stat_wal_receiver))), 8, '0')),
	(pg_last_wal_replay_lsn() - '0/0')::int8, ` + sameUsers

// showsMore asks whether the transaction, on a standby, may show more than a snapshot of the primary: whether a transaction
// that was under way there has ended here. A standby's own snapshot does not name those under way.
func showsMore(snapshot string) string {
	return fmt.Sprintf(`SELECT EXISTS (SELECT FROM (
			SELECT pg_snapshot_xip(%[1]s::pg_snapshot) UNION ALL
			SELECT _n::text::xid8 FROM generate_series(pg_snapshot_xmax(%[1]s::pg_snapshot)::text::int8,
				pg_snapshot_xmax(pg_current_snapshot())::text::int8 - 1) AS _n) AS _open (_xid)
		WHERE CASE WHEN _xid < pg_snapshot_xmax(pg_current_snapshot()) THEN pg_xact_status(_xid) <> 'in progress' END)`, snapshot)
}
