package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) that this package tells apart.
const (
	codeUnreached     = "08001"
	codeLost          = "08006"
	codeUnknown       = "08007"
	codeProtocol      = "08P01"
	codeInvalidText   = "22P02"
	codeDuplicate     = "23505"
	codeReadOnly      = "25006"
	codeNoStatement   = "26000"
	codeNoDatabase    = "3D000"
	codeNoSchema      = "3F000"
	codeUnsupported   = "0A000"
	codeNoRight       = "42501"
	codeNoTable       = "42P01"
	codeTableExists   = "42P07"
	codeTooMany       = "53300"
	codeLocked        = "55P03"
	codeCancelled     = "57014"
	codeShutdown      = "57P01"
	codeCrash         = "57P02"
	codeStarting      = "57P03"
	codeNoFile        = "58P01"
	codeUnserved      = "unserved" // our own: see [unserved]
	classAccess       = "28"       // a wrong password, or a user who may not connect
	classConnection   = "08"
	classSyntax       = "42" // or a missing right, or something that does not exist
	classResources    = "53"
	classIntervention = "57"
	classData         = "22" // a value that no server takes
	classLimits       = "54" // likewise
	classRollback     = "40" // a deadlock with another transaction, or the like
	classTransaction  = "25"
	classLocks        = "55" // or an object in a state in which it cannot be used
	classSystem       = "58"
	classInternal     = "XX"
)

// meanings are what the classes of SQLSTATEs mean. They hold no user data.
var meanings = map[string]string{
	"08": "connection exception", "0A": "feature not supported", "22": "data exception",
	"23": "integrity constraint violation", "25": "invalid transaction state", "26": "invalid statement name",
	"28": "invalid authorization", "3D": "no such database",
	"3F": "no such schema", "40": "transaction rollback", "42": "syntax error or access rule violation",
	"44": "with check option violation",
	"53": "insufficient resources", "54": "program limit exceeded", "55": "object not in prerequisite state",
	"57": "operator intervention", "58": "system error", "P0": "error of a function", "XX": "internal error",
}

// errBusy: all connections were in use for as long as a request waits.
var errBusy = &models.StorageError{
	Text: "all connections to the PostgreSQL server are in use", Code: codeTooMany, Meaning: meanings[classResources],
}

// errNoRightToFeed: changes are recorded, but not for this user.
var errNoRightToFeed = &models.StorageError{
	Text: "permission denied for table users_changes: grant the user in DATABASE_URL SELECT, UPDATE and DELETE on it",
	Code: codeNoRight, Meaning: "insufficient privilege",
}

// errStandby: a standby cannot say to which history of the primary its entries belong, and each cursor must.
var errStandby = &models.StorageError{
	Text: "a standby does not serve the feed of changes: ask a service whose DATABASE_URL leads to the primary",
	Code: codeReadOnly, Meaning: meanings[classTransaction],
}

// connectError says that no connection was made: nothing was sent to the server.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

func unreached(err error) error {
	if err == nil || errors.Is(err, models.ErrClosed) {
		return err
	}
	return connectError{err}
}

// sqlState returns the SQLSTATE that an error of the server carries, or "" if the error is not the server's.
func sqlState(err error) string {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Code
	}
	return ""
}

func class(code string) string { return code[:min(2, len(code))] }

// isStorages reports whether an error comes from storage, and is not one that the contract names.
func isStorages(err error) bool {
	if _, ok := errors.AsType[connectError](err); ok {
		return true
	}
	return sqlState(err) != "" || isLost(err)
}

func isLost(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network) || pgconn.SafeToRetry(err) || isBrokenOff(err)
}

// isUntrusted reports whether the server's certificate was refused.
func isUntrusted(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// isGone reports whether the server behind a connection is going away, or no longer accepts writes: another may have
// taken its place.
func isGone(err error) bool {
	switch sqlState(err) {
	case codeShutdown, codeCrash, codeStarting, codeReadOnly:
		return true
	case "":
		return err != nil && isLost(err) && !isBrokenOff(err)
	}
	return false
}

// isOutOfDate reports whether a statement was refused because it no longer matches what was prepared: another program
// has changed its table, or a pooler has lost it. It has done nothing.
func isOutOfDate(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failed.Code == codeNoStatement || failed.Code == codeUnsupported && failed.Routine == "RevalidateCachedQuery")
}

// isLockTimeout reports whether a statement has waited too long for a lock. A NOWAIT in a trigger has the same code.
func isLockTimeout(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == codeLocked && failed.Routine == "ProcessInterrupts"
}

func isBrokenOff(err error) bool {
	return sqlState(err) == codeCancelled || pgconn.Timeout(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// again reports whether a statement or a transaction that failed runs once more after this many tries: it has certainly
// done nothing, or it only reads. PostgreSQL ends one of two transactions that wait for each other, and that one is
// tried again for as long as it has time.
func again(err error, wanted use, tries int) bool {
	if _, connecting := errors.AsType[connectError](err); connecting || isUnknown(err) {
		return false // all hosts were tried, or it may be stored
	}
	if class(sqlState(err)) == classRollback {
		return wanted.writes
	}
	return tries == 1 && (isOutOfDate(err) || !wanted.once && (isGone(err) || pgconn.SafeToRetry(err)))
}

func storageError(err error) error {
	failed, isServers := errors.AsType[*pgconn.PgError](err)
	connecting, isConnecting := errors.AsType[connectError](err)
	switch {
	case isUnknown(err):
		return &models.StorageError{
			Text: whyUnknown(err) + "; whether the change was stored is not known", Code: codeUnknown, Meaning: "outcome unknown",
			Unknown: true,
		}
	case isConnecting:
		return connectFailure(connecting)
	case isServers:
		return &models.StorageError{Text: failed.Error(), Code: failed.Code, Meaning: meanings[class(failed.Code)]}
	case !isStorages(err):
		return err
	}
	return &models.StorageError{Text: reason(err), Code: codeLost, Meaning: reason(err)}
}

// whyUnknown says why the outcome of a write is not known.
func whyUnknown(err error) string {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Error()
	}
	if errors.Is(err, errUnconfirmed) {
		return errUnconfirmed.Error()
	}
	return reason(err)
}

// connectFailure returns the error for the client if no connection was made. The server's own text names the user.
func connectFailure(err error) error {
	failed := &models.StorageError{Text: reason(err), Code: codeUnreached, Meaning: reason(err)}
	if code := sqlState(err); code != "" {
		failed.Code = code
		failed.Meaning = meanings[class(code)]
	}
	return failed
}

// reason says in a few words why there is no connection. It names no host, user or password.
func reason(err error) string {
	server, _ := errors.AsType[*pgconn.PgError](err)
	named, isNamed := errors.AsType[*net.DNSError](err)
	number, isNumber := errors.AsType[syscall.Errno](err)
	switch {
	case server != nil && (class(server.Code) == classIntervention || server.Code == codeTooMany):
		return server.Error()
	case server != nil:
		return fmt.Sprintf("the PostgreSQL server refused the connection (SQLSTATE %s)", server.Code)
	case isUntrusted(err):
		return "the certificate of the PostgreSQL server is not trusted"
	case errors.Is(err, errOldTimeline):
		return errOldTimeline.Error()
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return "no PostgreSQL server was found that can be written"
	case isNamed && named.IsNotFound:
		return "the PostgreSQL server cannot be reached: its name is not known"
	case isNumber:
		return "the PostgreSQL server cannot be reached: " + number.Error()
	case isBrokenOff(err) || errors.Is(err, os.ErrDeadlineExceeded):
		return "the PostgreSQL server did not answer in time"
	}
	return "the connection to the PostgreSQL server was lost"
}
