package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// Of what a server, a pooler and pgx say of a COMMIT or of a statement that commits by itself, only an ERROR that is not
// about the connection or an administrator is a refusal.
func TestOnlyAnErrorOfTheServerIsARefusal(t *testing.T) {
	t.Parallel()
	of := func(severity, code string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code})
	}
	for _, test := range []struct {
		name    string
		err     error
		unknown bool
	}{
		{"a duplicate", of("ERROR", "23505"), false},
		{"a deadlock", of("ERROR", "40P01"), false},
		{"a server that may not be written", of("ERROR", "25006"), false},
		{"a lock that another program holds", of("ERROR", "55P03"), false},
		{"a full disk", of("ERROR", "53100"), false},
		{"no user has the id", models.ErrNotFound, false},
		{"a COMMIT that rolled back", pgx.ErrTxCommitRollback, false},
		{"a cancel", of("ERROR", "57014"), true},
		{"an administrator", of("FATAL", "57P01"), true},
		{"a crash", of("FATAL", "57P02"), true},
		{"a session that was ended for another reason", of("FATAL", "25P03"), true},
		{"a log that cannot be written", of("PANIC", "53100"), true},
		{"a pooler that has lost the server", of("FATAL", "08P01"), true},
		{"a pooler that says so as an error", of("ERROR", "08P01"), true},
		{"a server from before 9.6, or something that is none", &pgconn.PgError{Severity: "FEHLER", Code: "23505"}, true},
		{"the end of the connection", io.ErrUnexpectedEOF, true},
		{"our own deadline", context.DeadlineExceeded, true},
		{"a row that cannot be read", errors.New("cannot scan"), true},
		{"a connection of which pgx says that it is safe to try again", safe{}, true},
	} {
		err := outcome(test.err)
		if isUnknown(err) != test.unknown || !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
		for _, wanted := range []use{write, bulk, transfer} {
			if test.unknown && again(err, wanted, 1) {
				t.Errorf("%s: it is tried again", test.name)
			}
		}
		failed, ok := errors.AsType[*models.StorageError](storageError(err))
		if test.unknown && (!ok || failed.Code != codeUnknown) {
			t.Errorf("%s: a client is told %v", test.name, failed)
		}
	}
}

// safe is what pgx returns when a connection that is broken is read once more: "conn closed".
type safe struct{}

func (safe) Error() string     { return "conn closed" }
func (safe) SafeToRetry() bool { return true }
