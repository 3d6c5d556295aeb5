package operations

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

const databasePassword = "hunter2-of-the-database"

func TestAMistakeInTheDatabaseURLEndsTheStartWithoutThePassword(t *testing.T) {
	t.Parallel()
	file, empty, lines := filepath.Join(t.TempDir(), "url"), filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "lines")
	program.WriteFile(t, lines, "postgres://a\npostgres://"+databasePassword)
	program.WriteFile(t, file, "postgres://users:"+databasePassword+"@127.0.0.1:1/users")
	program.WriteFile(t, empty, "")
	const url = "DATABASE_URL=postgres://users:" + databasePassword
	for _, bad := range []struct{ name, settings, says string }{
		{"an empty variable", "DATABASE_URL=", "DATABASE_URL is set and empty"},
		{"an empty file", "DATABASE_URL_FILE=" + empty, "DATABASE_URL_FILE is set and empty"},
		{"no such file", "DATABASE_URL_FILE=/gone/" + databasePassword, "DATABASE_URL_FILE names cannot be read"},
		{"both", url + "@127.0.0.1/users|DATABASE_URL_FILE=" + file, "DATABASE_URL and DATABASE_URL_FILE are both set"},
		{"another kind of database", "DATABASE_URL=mysql://a:" + databasePassword + "@b/c", "must begin with postgres://"},
		{"words", "DATABASE_URL=host=b password=" + databasePassword, "must begin with postgres://"},
		{"a space", url + " @127.0.0.1/users", "DATABASE_URL has a space"},
		{"two lines", "DATABASE_URL_FILE=" + lines, "DATABASE_URL_FILE has a space or a line break"},
		{"an @ in the password", url + "@x@127.0.0.1/users", "%40"},
		{"a / in the password", url + "/x@127.0.0.1/users", "%2F"},
		{"a # in the password", url + "#x@127.0.0.1/users", "%23"},
		{"no port", url + "@127.0.0.1:port/users", "URL"},
		{"a parameter", url + "@127.0.0.1/users?sslmode=perhaps", "sslmode"},
		{"half an IPv6 address", "DATABASE_URL=postgres://[", "DATABASE_URL…%5B"},
		{"backups of the file", url + "@127.0.0.1/users|BACKUP_EVERY=24h", "BACKUP_EVERY…pg_dump"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), strings.Split(bad.settings, "|")...)
			program.ExpectRefusal(t, p, strings.Split(bad.says, "…")...)
			program.Forbid(t, p.Log(), "hunter2")
			program.ExpectNoDirectory(t, p.DataDir)
		})
	}
}

func TestBackupsAndRestoresOfPostgreSQLAreForItsOwnTools(t *testing.T) {
	t.Parallel()
	url := "DATABASE_URL=postgres://users:" + databasePassword + "@127.0.0.1:1/users"
	directory := filepath.Join(t.TempDir(), "data")
	for _, command := range []string{"backup", "restore"} {
		done := program.RunWith(t, []string{url, "DATA_DIR=" + directory}, nil, command, "-")
		done.ExpectMistake(t, "DATABASE_URL is set", "pg_dump", "pg_restore")
		program.Forbid(t, done.Stderr, "hunter2")
	}
	program.ExpectNoDirectory(t, directory)
}

// What a command says that it will do must not be what it cannot do.
func TestACommandThatCannotFindItsDatabaseAnnouncesNothing(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	for _, arguments := range [][]string{
		{"changes", "on"}, {"changes", "off"}, {"add-field", "room"}, {"ignore-email-case"}, {"index-search"}, {"index-search", "--drop"},
	} {
		program.RunWith(t, []string{"DATABASE_URL=postgres://["}, nil, arguments...).ExpectMistake(t, "DATABASE_URL")
		program.RunWith(t, []string{"DATA_DIR=" + directory}, nil, arguments...).ExpectMistake(t, filepath.Join(directory, "users.db"))
	}
	program.ExpectNoDirectory(t, directory)
}

// A server that is not there yet is waited for, so that both can be started at once. A signal ends the wait.
func TestASignalEndsAStartThatWaitsForAServer(t *testing.T) {
	t.Parallel()
	p := program.Launch(t, program.Path(), "DATABASE_URL=postgres://users:"+databasePassword+"@127.0.0.1:1/users")
	p.WaitForLog(t, "connection refused")
	p.Signal(syscall.SIGTERM)
	p.ExpectEnd(t, 0)
	program.Forbid(t, p.Log(), "hunter2", "goroutine", "level=ERROR")
	program.ExpectNoDirectory(t, p.DataDir)
}
