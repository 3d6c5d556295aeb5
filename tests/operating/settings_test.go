package operating

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

// Which values each setting refuses is tested in config/config_test.go. No line has a key or a password.
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
		url     = "DATABASE_URL=postgres://users:" + databasePassword
		proxied = "PROXY_KEY=" + otherKey + "|"
		noFile  = "names cannot be read: not a regular file: write the text into one"
	)
	listener, err := net.Listen("tcp", ":0")
	program.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	for _, bad := range []struct{ name, settings, says string }{
		{"a value that is none", "PORT=abc", "PORT is…abc…65535"},
		{"a port that is taken", "PORT=" + port, port + "…address already in use…set PORT"},
		{"an address of another machine", "LISTEN_ADDRESS=192.0.2.1", "192.0.2.1…cannot assign requested address…LISTEN_ADDRESS"},
		{"an address within the container", "PUBLISH=127.0.0.1:3000|LISTEN_ADDRESS=127.0.0.1",
			"LISTEN_ADDRESS is…127.0.0.1…, which nobody outside of the container reaches: with compose, set PUBLISH instead"},
		{"a pipe of keys", "API_KEY_FILE=" + pipe, "the file that API_KEY_FILE " + noFile},
		{"no such file", "DATABASE_URL_FILE=/gone/" + databasePassword, "DATABASE_URL_FILE names cannot be read"},
		{"another kind of database", "DATABASE_URL=mysql://a:" + databasePassword + "@b/c", "it must be one line, postgres://"},
		{"two lines", "DATABASE_URL_FILE=" + file("lines", "postgres://a\npostgres://"+databasePassword),
			"DATABASE_URL cannot be used: it must be one line"},
		{"an @ in the password", url + "@x@127.0.0.1/users", "%40"},
		{"a parameter", url + "@127.0.0.1/users?sslmode=perhaps", "sslmode"},
		{"backups of the file", url + "@127.0.0.1/users|BACKUP_EVERY=24h", "BACKUP_EVERY…pg_dump"},
		{"a file with a malformed line of keys", "API_KEY_FILE=" + file("malformed", otherKey+"\n# for HR\nhr-sync "+fullKey+" 2027-02-29\n"),
			"line 3 of API_KEY_FILE has something else than a date"},
		{"both forms of keys", "API_KEY=" + fullKey + "|API_KEY_FILE=" + file("good", fullKey), "API_KEY and API_KEY_FILE are both set"},
		{"the key where the file belongs", "API_KEY_FILE=" + fullKey, "API_KEY_FILE names cannot be read"},
		{"only a key that reads", "API_READ_KEY=" + readKey, "API_READ_KEY is set without API_KEY"},
		{"one key in both", "API_KEY_FILE=" + file("good", fullKey) + "|API_READ_KEY=" + fullKey,
			"line 1 of API_READ_KEY has a key that is already listed"},
		{"one key for a program and a proxy", "API_KEY=" + fullKey + "|PROXY_KEY=" + fullKey, "line 1 of PROXY_KEY has a key that is already listed"},
		{"a header of people without a proxy", "PERSON_HEADER=Remote-User", "PERSON_HEADER is…Remote-User… without PROXY_KEY"},
		{"a header that is none", proxied + "PERSON_HEADER=Remote User", "PERSON_HEADER is…Remote User…: it must be the name of a header"},
		{"a header that has another meaning", proxied + "PERSON_GROUPS_HEADER=x-api-key", "PERSON_GROUPS_HEADER is…x-api-key…: it must"},
		{"no writers", proxied + "PERSON_WRITERS=", "PERSON_WRITERS is…: it must be names"},
		{"an empty writer", proxied + "PERSON_WRITERS=ada,,bob", "PERSON_WRITERS is…ada,,bob…: it must be names"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), strings.Split(bad.settings, "|")...)
			program.ExpectRefusal(t, p, strings.Split(bad.says, "…")...)
			program.Forbid(t, p.Log(), "hunter2", fullKey[:15], otherKey, readKey)
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
	for directory, says := range map[string][]string{
		"/proc/none": {"/proc/none", "DATA_DIR"},
		long:         {long + "/users.db", "too long for SQLite, which takes 504 bytes"},
		text:         {"users.db", "not an SQLite database", "DATA_DIR"},
		file:         {filepath.Join(file, "users.db") + isDirectory},
		wal:          {filepath.Join(wal, "users.db-wal") + isDirectory},
	} {
		program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+directory), says...)
	}
}

func TestAMistypedSettingIsNamedAndItsValueIsNot(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "API_KYE=secret-0123456789")
	program.Expect(t, "the log", p.Line(t, "variable=API_KYE"), `…level=WARN…"did you mean API_KEY?"…`)
	says := program.RunWith(t, []string{"DATA_DRI=/secret"}, nil, "index-search").Stderr
	program.Expect(t, "a command", says, `…variable=DATA_DRI help="did you mean DATA_DIR?"…`)
	program.Forbid(t, p.Log()+says, "secret")
}

func TestACommandThatCannotFindItsDatabaseFails(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	for _, command := range []string{
		"changes restart", "add-field room", "ignore-email-case", "index-search", "index-search --drop", "backup -", "backup b.db",
	} {
		for setting, says := range map[string]string{
			"DATABASE_URL=postgres://[": "DATABASE_URL", "PORT=abc": `PORT is "abc"`, "USER_FIELDS=email": `USER_FIELDS is "email"`,
		} {
			program.RunWith(t, []string{setting}, nil, strings.Fields(command)...).ExpectMistake(t, says)
		}
		missing := filepath.Join(directory, "users.db")
		program.RunCommand(t, directory, nil, strings.Fields(command)...).ExpectFailure(t, "… "+missing+"…", "there is no database "+missing)
	}
	program.ExpectNoDirectory(t, directory)
	for _, command := range []string{"backup", "restore"} { // PostgreSQL has its own tools
		done := program.RunWith(t, []string{"DATABASE_URL=postgres://users:" + databasePassword + "@127.0.0.1:1/users"}, nil, command, "-")
		done.ExpectMistake(t, "DATABASE_URL is set", "pg_dump", "pg_restore")
		program.Forbid(t, done.Stderr, "hunter2")
	}
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

// askFor sends a request for a host and returns the answer.
func askFor(t *testing.T, p *program.Program, host, target string) program.Answer {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
	return conn.Answer().To(target + " for " + host)
}

func TestAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ALLOWED_HOSTS=users.example.org, LOCALHOST,::1,192.0.2.1", "ADMIN_PORT=0")
	for _, host := range []string{"users.example.org.", "Users.Example.Org:3000", "localhost:80", "[::1]:3000", "[0:0:0:0:0:0:0:1]:80", "192.0.2.1"} {
		askFor(t, p, host, "GET /api/users").Expect(t, 200, "[]")
	}
	const refusal = `{"error":"This service does not answer for the host \"evil.example\""}`
	for _, target := range []string{"GET /api/users", "POST /api/users", "DELETE /api/users/1", "GET /", "BREW /x"} {
		askFor(t, p, "evil.example:3000", target).Expect(t, 421, refusal)
	}
	askFor(t, p, "evil.example", "GET /health").Expect(t, 200, `{"status":"ok"}`)
	for _, host := range []string{"127.0.0.1", "users.example.org.evil.example", "evil-users.example.org", "[::2]", ""} {
		askFor(t, p, host, "GET /api/users").Expect(t, 421, "…")
	}
	// Figures and profiles are for no other site either. Probes call the service by its address, and learn nothing.
	admin := program.Admin(t, p)
	for path, status := range map[string]int{"/metrics": 200, "/debug/pprof/cmdline": 200, "/nothing": 404} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 421, `…"evil.example"…`)
		askFor(t, admin, "localhost:9090", "GET "+path).Expect(t, status, "…")
	}
	for _, path := range []string{"/livez", "/readyz"} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 200, "ok\n")
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "evil")
}

func TestTheAdminPortIsApart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "LISTEN_ADDRESS=127.0.0.2", "API_KEY="+fullKey, "ALLOWED_HOSTS=a.example,127.0.0.2")
	expectListening(t, program.Admin(t, p), "127.0.0.2")
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		program.AskAdmin(t, p, path).Expect(t, 200, "…")
		askFor(t, p, "a.example", "GET "+path).Expect(t, 404, "…")
	}
	for _, path := range []string{"/", "/health", "/api/users"} {
		program.AskAdmin(t, p, path).Expect(t, 404, "…")
	}
	program.Forbid(t, program.Serve(t, "ADMIN_PORT=").Log(), "admin=")
}

// elsewhere is an address of this machine to which no other program listens alone.
const elsewhere = "127.0.0.78"

// expectListening fails the test unless a program listens to this address, and not to every one. It returns the port.
func expectListening(t *testing.T, p *program.Program, address string) (port string) {
	t.Helper()
	port, found := strings.CutPrefix(p.URL, "http://"+address+":")
	if !found {
		t.Fatalf("it listens at %s", p.URL)
	}
	if conn, err := net.Dial("tcp", elsewhere+":"+port); err == nil {
		_ = conn.Close()
		t.Errorf("it listens to every address at %s", port)
	}
	return port
}

func TestOneAddressIsListenedTo(t *testing.T) {
	t.Parallel()
	for address, shown := range map[string]string{"127.0.0.2": "127.0.0.2", "::1": "[::1]"} {
		probe, err := net.Listen("tcp", shown+":0")
		if err != nil {
			t.Logf("there is no %s here: %v", address, err)
			continue
		}
		_ = probe.Close()
		port := expectListening(t, program.Serve(t, "LISTEN_ADDRESS="+address), shown)
		check := program.RunWith(t, []string{"PORT=" + port, "LISTEN_ADDRESS=" + address}, nil, "healthcheck")
		program.Expect(t, "the health check", check, program.Outcome{Stdout: "healthy: http://" + shown + ":" + port + "/health answered 200 OK\n"})
	}
}

func TestTheFirstLineSaysWhatIsOn(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, keys, "full-key-0123456789\nother-key-0123456789\n")
	for name, c := range map[string]struct{ settings, says string }{
		"nothing":    {"A=b", "address=http://…database=… keys=0 read_keys=0 backups=off fields=name,email…"},
		"a NODE_ENV": {"NODE_ENV=development", "node_env=development keys=0"},
		"keys":       {"API_KEY_FILE=" + keys + "|API_READ_KEY=read-key-0123456789", " keys=2 read_keys=1 "},
		"fields":     {"USER_FIELDS= room ,\tcity", ",room,city\n"},
		"32 fields":  {"USER_FIELDS=" + numbered(31) + "," + longName, "," + numbered(31) + "," + longName + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, strings.Split(c.settings, "|")...)
			program.Expect(t, "the first line", p.Line(t, "msg=listening"), "…"+c.says+"…")
			if c.settings == "A=b" {
				program.Forbid(t, p.Log(), "node_env", "no setting")
			}
		})
	}
}

func TestTheFirstStartMakesTheDirectoryAndTheDatabase(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for _, name := range []string{"not/there yet", "what?#1", "100%41&_pragma=c"} {
		directory := filepath.Join(t.TempDir(), name)
		p := program.Serve(t, "DATA_DIR="+directory)
		p.WaitForLog(t, directory+"/users.db")
		program.ExpectNames(t, directory, "users.db", "users.db-shm", "users.db-wal")
	}
}

func TestSeveralProcessesStartAtOnceOnAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	var all []*program.Program
	for range 4 {
		all = append(all, program.Launch(t, program.Path(), "DATA_DIR="+directory))
	}
	for i, p := range all {
		p.WaitForAddress(t)
		p.Create(t, "User", fmt.Sprintf("%d@example.org", i))
	}
	for _, p := range all {
		p.ExpectUsers(t, "User", "User", "User", "User")
		p.Stop(t)
	}
	if files, _ := filepath.Glob(all[0].DatabasePath() + "*"); len(files) > 1 {
		t.Errorf("after the last stop there are %v", files)
	}
}

func TestUsersAndTheNextIDAreTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	last := p.Create(t, "Alan", "alan@example.org")
	p.Delete(t, last)
	before := p.Do(t, "GET", "/api/users", "").Body
	p = p.Again(t)
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	program.Expect(t, "the id after a deletion of the last", p.Create(t, "Next", "next@example.org"), last+1)
}
