package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

const databasePassword = "hunter2-of-the-database"

// Which values each setting refuses is tested in config/config_test.go, and for keys in tests/api/keys_test.go.
func TestAStartThatCannotWorkEndsWithOneHelpfulLine(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file := func(name, text string) (path string) {
		path = filepath.Join(directory, name)
		program.WriteFile(t, path, text)
		return path
	}
	pipe := filepath.Join(directory, "pipe") // who opens it waits for who writes into it, and no signal ends that
	program.Must(t, syscall.Mkfifo(pipe, 0o600))
	const (
		url    = "DATABASE_URL=postgres://users:" + databasePassword
		noFile = "names cannot be read: not a regular file: write the text into one"
	)
	listener, err := net.Listen("tcp", ":0")
	program.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	for _, bad := range []struct{ name, settings, says string }{
		{"a value that is none", "PORT=abc", "PORT is…abc…65535"},
		{"a port that is taken", "PORT=" + port, port + "…address already in use…set PORT"},
		{"an admin port that is taken", "ADMIN_PORT=" + port, "address already in use…set ADMIN_PORT"},
		{"an address of another machine", "LISTEN_ADDRESS=192.0.2.1", "192.0.2.1…cannot assign requested address…LISTEN_ADDRESS"},
		{"a pipe of keys", "API_KEY_FILE=" + pipe, "the file that API_KEY_FILE " + noFile},
		{"a pipe with the database", "DATABASE_URL_FILE=" + pipe, "the file that DATABASE_URL_FILE " + noFile},
		{"an empty variable", "DATABASE_URL=", "DATABASE_URL is set and empty"},
		{"no such file", "DATABASE_URL_FILE=/gone/" + databasePassword, "DATABASE_URL_FILE names cannot be read"},
		{"both", url + "@127.0.0.1/users|DATABASE_URL_FILE=" + file("url", "x"), "DATABASE_URL and DATABASE_URL_FILE are both set"},
		{"another kind of database", "DATABASE_URL=mysql://a:" + databasePassword + "@b/c", "must begin with postgres://"},
		{"a space", url + " @127.0.0.1/users", "DATABASE_URL has a space"},
		{"two lines", "DATABASE_URL_FILE=" + file("lines", "postgres://a\npostgres://"+databasePassword),
			"DATABASE_URL_FILE has a space or a line break"},
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
			if strings.Contains(bad.settings, "DATABASE_URL") {
				program.ExpectNoDirectory(t, p.DataDir)
			}
		})
	}
}

func TestAFileThatCannotBeUsedEndsTheStart(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	text, file, wal := t.TempDir(), t.TempDir(), t.TempDir()
	program.WriteFile(t, filepath.Join(text, "users.db"), strings.Repeat("not a database ", 999))
	program.Must(t, os.Mkdir(filepath.Join(file, "users.db"), 0o755))
	program.Must(t, os.Mkdir(filepath.Join(wal, "users.db-wal"), 0o755))
	long := filepath.Join(t.TempDir(), strings.Repeat("a", 250), strings.Repeat("b", 250))
	const isDirectory = " is a directory: move it away, or set DATA_DIR to another directory"
	for directory, says := range map[string]string{
		"/dev/null":  "/dev/null…directory",
		"/proc/none": "/proc/none…DATA_DIR",
		long:         long + "/users.db…SQLite takes no more than 504…DATA_DIR to a shorter",
		text:         "users.db…not an SQLite database…DATA_DIR",
		file:         filepath.Join(file, "users.db") + isDirectory,
		wal:          filepath.Join(wal, "users.db-wal") + isDirectory,
	} {
		p := program.Launch(t, program.Path(), "DATA_DIR="+directory)
		program.ExpectRefusal(t, p, strings.Split(says, "…")...)
		if strings.Contains(says, isDirectory) {
			program.Forbid(t, p.Log(), "chown")
		}
	}
}

func TestAMistypedSettingIsNamedAndItsValueIsNot(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "API_KYE=secret-0123456789")
	program.Expect(t, "the log", p.Line(t, "variable=API_KYE"), `…level=WARN…"did you mean API_KEY?"…`)
	_, says, _ := program.Run(t, []string{"DATA_DRI=/secret"}, "index-search")
	program.Expect(t, "a command", says, `…variable=DATA_DRI help="did you mean DATA_DIR?"…`)
	program.Forbid(t, p.Log()+says, "secret")
}

func TestBackupsOfPostgreSQLAreForItsOwnTools(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"backup", "restore"} {
		done := program.RunWith(t, []string{"DATABASE_URL=postgres://users:" + databasePassword + "@127.0.0.1:1/users"}, nil, command, "-")
		done.ExpectMistake(t, "DATABASE_URL is set", "pg_dump", "pg_restore")
		program.Forbid(t, done.Stderr, "hunter2")
	}
}

// What a command says that it will do must not be what it cannot do.
func TestACommandThatCannotFindItsDatabaseAnnouncesNothing(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	for _, command := range []string{
		"changes on", "changes off", "add-field room", "ignore-email-case", "index-search", "index-search --drop", "backup -", "backup b.db",
	} {
		for setting, says := range map[string]string{
			"DATABASE_URL=postgres://[": "DATABASE_URL", "DATA_DIR=" + directory: filepath.Join(directory, "users.db"),
			"PORT=abc": `PORT is "abc"`, "USER_FIELDS=email": `USER_FIELDS is "email"`,
		} {
			program.RunWith(t, []string{setting}, nil, strings.Fields(command)...).ExpectMistake(t, says)
		}
	}
	program.ExpectNoDirectory(t, directory)
}

// A server that is not there yet is waited for, so that both can be started at once. A signal ends the wait.
func TestASignalEndsAStartThatWaitsForAServer(t *testing.T) {
	t.Parallel()
	const url = "postgresql://users:" + databasePassword + "@127.0.0.1:1/users"
	file := filepath.Join(t.TempDir(), "url")
	program.WriteFile(t, file, "\ufeff"+url+"\r\n") // as Windows writes it
	for _, setting := range []string{"DATABASE_URL=" + url, "DATABASE_URL_FILE=" + file} {
		p := program.Launch(t, program.Path(), setting)
		p.WaitForLog(t, "connection refused")
		p.Signal(syscall.SIGTERM)
		p.ExpectEnd(t, 0)
		program.Forbid(t, p.Log(), "hunter2", "goroutine", "level=ERROR")
		program.ExpectNoDirectory(t, p.DataDir)
	}
}
