package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// mayCome reports whether a server that could not be reached may be there in a moment: it is starting, its name is not
// known yet, it has no room, or another is about to take its place. A pooler reports all of this as a violation of the
// protocol.
func mayCome(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch failed.Code {
		case codeStarting, codeShutdown, codeCrash, codeTooMany:
			return true
		case codeProtocol:
			return !strings.Contains(failed.Message, "startup parameter")
		}
		return false
	}
	return isLost(err) && !isUntrusted(err) || errors.Is(err, pgconn.ErrReadOnlyConnection)
}

// explain turns an error at startup into a line that says what to do.
func explain(where address, err error) error {
	what, why := fmt.Sprintf("cannot use the PostgreSQL database at %s", where), err.Error()
	code := sqlState(err)
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		why = failed.Message
	} else if failed, ok := errors.AsType[*models.StorageError](err); ok {
		code = failed.Code
	} else if isLost(err) || errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return fmt.Errorf("%s: %s: %s", what, reason(err), remedyWithoutServer(err))
	}
	if code == codeProtocol && mayCome(err) {
		return fmt.Errorf("%s: %s: check that the server behind the pooler runs", what, why)
	}
	if help := remedy(code, where); help != "" {
		return fmt.Errorf("%s: %s: %s", what, why, help)
	}
	return fmt.Errorf("%s: %s", what, strings.ReplaceAll(why, "\n\t", " ")) // pgx gives each host a line
}

func remedy(code string, where address) string {
	switch code {
	case codeNoDatabase:
		return fmt.Sprintf("create it with `createdb -O %s %s`, or name another in the URL", where.user, where.database)
	case codeNoRight:
		return fmt.Sprintf("as its owner, run `GRANT CONNECT, CREATE ON DATABASE %[1]s TO %[2]s`, "+
			"`GRANT USAGE, CREATE ON SCHEMA public TO %[2]s` and, where users exists, "+
			"`GRANT SELECT, INSERT, UPDATE, DELETE ON users TO %[2]s`", where.database, where.user)
	case codeNoSchema:
		return "no schema of the search path exists: create one, or set it with `ALTER ROLE … SET search_path`"
	case codeProtocol:
		return "a pooler refuses a parameter of the URL: take it out, or add it to the pooler's ignore_startup_parameters"
	case codeTooMany:
		return "raise max_connections of the server, or lower pool_max_conns in the URL of each process"
	}
	switch class(code) {
	case classAccess:
		return "check the user and the password of the URL, and pg_hba.conf of the server"
	case classIntervention:
		return "look at the log of the server"
	}
	return ""
}

// remedyWithoutServer says what to do if no server could be used.
func remedyWithoutServer(err error) string {
	if isUntrusted(err) {
		return "name the file of the authority that signed it as sslrootcert in the URL, and the host as the certificate has it"
	}
	if errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return "name the primary in the URL, or all hosts, separated by commas"
	}
	return "check that the server runs, and that the host and the port in the URL are right"
}
