package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// place is between two entries of the feed: after that with a key.
type place struct {
	xid uint64
	seq int64
}

func (p place) isBefore(other place) bool {
	return p.xid < other.xid || p.xid == other.xid && p.seq < other.seq
}

// feedState is what a feed has at a moment.
type feedState struct {
	epoch       string // of its cursors; "" if changes are not recorded, or cannot be read
	unreadable  error  // why they cannot be read, if they are recorded
	begin, last place
}

// cursor returns the cursor of a place, or "" if changes are not recorded.
func (f feedState) cursor(p place) string {
	if f.epoch == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", f.epoch, p.xid, p.seq)
}

// find returns the place of a cursor that the feed has given.
func (f feedState) find(cursor string) (p place, err error) {
	if cursor == "" {
		return f.begin, nil
	}
	if parts := strings.Split(cursor, "."); len(parts) == 3 {
		p.xid, _ = strconv.ParseUint(parts[1], 10, 64)
		p.seq, _ = strconv.ParseInt(parts[2], 10, 64)
	}
	if f.cursor(p) != cursor || p.isBefore(f.begin) || f.last.isBefore(p) {
		err = models.ErrCursorGone
	}
	return p, err
}

// scanPlaces reads places from a row: the transaction of each as a text, because there is no unsigned number.
func scanPlaces(rows pgx.Rows, begin, last *place) error {
	var beginXID, lastXID string
	err := rows.Scan(&beginXID, &begin.seq, &lastXID, &last.seq)
	if err == nil {
		begin.xid, err = strconv.ParseUint(beginXID, 10, 64)
	}
	if err == nil {
		last.xid, err = strconv.ParseUint(lastXID, 10, 64)
	}
	return err
}
