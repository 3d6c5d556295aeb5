package database

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// SQLSTATEs (postgresql.org/docs/current/errcodes-appendix.html) that are told apart here.
const (
	codeUnreached = "08001"
	codeLost      = "08006"
	codeUnknown   = "08007"
	codeDuplicate = "23505"
	codeReadOnly  = "25006"
	codeNoRight   = "42501"
	codeNoTable   = "42P01"
	codeTooMany   = "53300"
	codeLocked    = "55P03"
	codeCancelled = "57014"
	codeShutdown  = "57P01"
	codeCrash     = "57P02"
	codeStarting  = "57P03"
	codeIdle      = "57P05"
)

var (
	// errTooLate: a write took too long, and was ended before its commit began.
	errTooLate = &models.StorageError{
		Text: "the PostgreSQL server did not do it in time, and nothing was changed", Code: codeCancelled, Meaning: "too late",
	}
	// errLocked: another transaction held a lock for too long.
	errLocked = &models.StorageError{
		Text: "another transaction of PostgreSQL held a lock that this write needs, and nothing was changed", Code: codeLocked,
		Meaning: "locked",
	}
	// errUnconfirmed: the server no longer waits for its synchronous standby. The commit is in its log, and perhaps
	// nowhere else.
	errUnconfirmed = errors.New("no standby has confirmed the commit")
)

// unconfirmed marks a connection on which the server has reported that no standby confirmed a commit.
const unconfirmed = "unconfirmed"

// commitError returns the error of a COMMIT. Only an ERROR of the server says for certain that nothing was stored. A
// cancel or a shutdown (class 57) that arrives during the commit takes effect after it, with the same message as before
// it; a pooler that has lost the server says so in class 08, and any other error comes from a broken connection.
func commitError(err error) error {
	server, isServers := errors.AsType[*pgconn.PgError](err)
	isError := isServers && server.SeverityUnlocalized == "ERROR"
	state := class(sqlState(err))
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || isError && state != "08" && state != "57" {
		return err
	}
	why := reason(err)
	if isServers || errors.Is(err, errUnconfirmed) {
		why = err.Error()
	}
	return &models.StorageError{
		Text: why + "; whether the change was stored is not known", Code: codeUnknown, Meaning: "outcome unknown", Unknown: true,
	}
}

// sqlState returns the SQLSTATE that an error of the server carries, or "" if the error is not the server's.
func sqlState(err error) string {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failed.Code
	}
	return ""
}

func class(code string) string { return code[:min(2, len(code))] }

// trouble is why a statement did not do what it should: the one classification of errors of the server, of pgx and of
// the network.
type trouble int

const (
	other   trouble = iota // no error of a database, or one that says nothing about the connection or the statement
	refused                // the server refuses what the statement asks for, and would refuse it again
	aborted                // the server has rolled the transaction back because of others
	locked                 // it has waited too long for a lock
	ended                  // a deadline or a cancel has ended it
	gone                   // the server has ended the connection, goes away or takes no writes: another may take its place
)

func troubleOf(err error) trouble {
	server, isServers := errors.AsType[*pgconn.PgError](err)
	var network net.Error
	switch {
	case err == nil:
		return other
	case pgconn.Timeout(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ended
	case !isServers:
		// A connection that is closed is first bad to database/sql, and then done.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
			errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || pgconn.SafeToRetry(err) {
			return gone
		}
		return other
	}
	switch server.Code {
	case codeCancelled:
		return ended
	case codeShutdown, codeCrash, codeStarting, codeIdle, codeReadOnly:
		return gone
	case codeLocked: // a NOWAIT in a trigger has the same code
		if server.Routine == "ProcessInterrupts" {
			return locked
		}
	}
	switch class(server.Code) {
	case "40":
		return aborted
	case "08", "25", "28", "53", "57", "58", "XX":
		return other
	}
	return refused
}

// isConnections reports whether the connection is to blame, or its end.
func (t trouble) isConnections() bool { return t == ended || t == gone }

// classify shows an error without a host, user or password. The server refuses what violates the rules of a table, and
// not what fails because of the connection, the machine, or other transactions.
func (postgresDialect) classify(err error) (shown error, isRefusal bool) {
	server, isServers := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, isStorage := errors.AsType[*models.StorageError](err)
	_, isRecord := errors.AsType[recordError](err)
	switch {
	case err == nil, isStorage:
		return err, errors.Is(err, models.ErrNoEffect)
	case connecting:
		why := reason(err)
		return &models.StorageError{Text: why, Code: cmp.Or(sqlState(err), codeUnreached), Meaning: why}, false
	case troubleOf(err) == locked:
		return errLocked, false
	case isServers:
		text := server.Error()
		column := uniqueColumn(server)
		return &models.StorageError{
			Text: text, Code: server.Code, Unique: server.Code == codeDuplicate, Column: column, Duplicate: column == "email",
		}, troubleOf(err) == refused && !isRecord
	case troubleOf(err).isConnections():
		return &models.StorageError{Text: reason(err), Code: codeLost, Meaning: reason(err)}, false
	}
	return err, false
}

// uniqueColumn returns the column of users that alone has the unique index that was violated. The detail is, in the
// language of the server, "Key (email)=(ada@example.org) already exists."
func uniqueColumn(failed *pgconn.PgError) string {
	switch {
	case failed.Code != codeDuplicate || failed.TableName != "users":
		return ""
	case failed.ConstraintName == "users_email_nocase":
		return "email"
	}
	_, key, _ := strings.Cut(failed.Detail, "(")
	columns, _, _ := strings.Cut(key, ")=(")
	return strings.Trim(columns, `"`) // of a word of SQL; several are no column's name
}

// reason says in a few words why there is no connection. It names no host, user or password.
func reason(err error) string {
	server, _ := errors.AsType[*pgconn.PgError](err)
	number, isNumber := errors.AsType[syscall.Errno](err)
	named, isNamed := errors.AsType[*net.DNSError](err)
	switch {
	case server != nil && (class(server.Code) == "57" || server.Code == codeTooMany):
		return server.Error()
	case server != nil:
		return fmt.Sprintf("the PostgreSQL server refused the connection (SQLSTATE %s)", server.Code)
	case isUntrusted(err):
		return "the certificate of the PostgreSQL server is not trusted"
	case errors.Is(err, pgconn.ErrReadOnlyConnection):
		return "no PostgreSQL server was found that can be written (default_transaction_read_only may be on)"
	case isNamed && named.IsNotFound:
		return "the PostgreSQL server cannot be reached: its name is not known"
	case isNumber:
		return "the PostgreSQL server cannot be reached: " + number.Error()
	case troubleOf(err) == ended || errors.Is(err, os.ErrDeadlineExceeded):
		return "the PostgreSQL server did not answer in time"
	}
	return "the connection to the PostgreSQL server was lost"
}

func isUntrusted(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// isTransient reports whether a server that could not be reached may be there in a moment: it is starting, its name is
// not known yet, it has no room, or another is about to take its place. A pooler reports all of this as a violation of
// the protocol.
func isTransient(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return class(failed.Code) == "57" || failed.Code == codeTooMany ||
			failed.Code == "08P01" && !strings.Contains(failed.Message, "startup parameter")
	}
	return troubleOf(err).isConnections() && !isUntrusted(err) || errors.Is(err, pgconn.ErrReadOnlyConnection)
}

// explain turns an error at startup, or of a command, into a line that says what to do.
func (p *postgresPool) explain(err error) error {
	server, isServers := errors.AsType[*pgconn.PgError](err)
	_, isStorage := errors.AsType[*models.StorageError](err)
	if err == nil || isUnknown(err) || errors.Is(err, context.Canceled) {
		return err
	}
	why := strings.ReplaceAll(err.Error(), "\n\t", " ") // pgx gives each host a line
	isAway := !isServers && !isStorage && troubleOf(err).isConnections() || errors.Is(err, pgconn.ErrReadOnlyConnection)
	switch {
	case isServers:
		why = server.Message
	case isAway:
		why = reason(err)
	}
	switch code := sqlState(err); {
	case isUntrusted(err):
		why += ": name the file of the authority that signed it as sslrootcert in DATABASE_URL, and the host as the certificate " +
			"has it"
	case isAway:
		why += ": check that the server runs, and that DATABASE_URL names the right hosts and ports: the primary, or all hosts, " +
			"separated by commas"
	case code == codeNoRight, code == codeLocked:
		why += fmt.Sprintf(": let the owner of users run `users-api changes restart` once, with a DATABASE_URL of its own, and look "+
			"that nothing holds users locked; or name the owner of the table in DATABASE_URL, or as the owner, run "+
			"`GRANT CONNECT, CREATE ON DATABASE %[1]s TO %[2]s`, `GRANT USAGE, CREATE ON SCHEMA public TO %[2]s` and, "+
			"where users exists, `GRANT SELECT, INSERT, UPDATE, DELETE ON users TO %[2]s`", p.address.database, p.address.username)
	case code == codeNoTable:
		why += ": start the service, which creates the table with the columns that USER_FIELDS names"
	case class(code) == "28":
		why += ": check the user and the password in DATABASE_URL, and pg_hba.conf of the server"
	case class(code) == "3D":
		why += fmt.Sprintf(": create it with `createdb -O %s %s`, or name another in DATABASE_URL",
			p.address.username, p.address.database)
	case class(code) == "53":
		why += ": raise max_connections of the server, or lower pool_max_conns in DATABASE_URL"
	case slices.Contains([]string{"22023", "3F000", "42601", "42704", "55P02"}, code): // of a parameter
		why += ": correct it in DATABASE_URL, or take it out; search_path names the schema there, and %20 is a blank"
	}
	return fmt.Errorf("cannot use the PostgreSQL database at %s: %s", p.address, why)
}
