package operations

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheFirstRunSaysWhereEverythingIs(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory := filepath.Join(t.TempDir(), "not", "there yet")
	p := program.Serve(t, "DATA_DIR="+directory, "NODE_ENV=development")
	database := filepath.Join(directory, "users.db")
	for _, text := range []string{"address=http://localhost:", database, "node_env=development"} {
		p.WaitForLog(t, text)
	}
	program.Forbid(t, p.Log(), "no setting")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, "[]")
}

func TestANodeEnvThatIsNotSetIsNotLogged(t *testing.T) {
	t.Parallel()
	program.Forbid(t, program.Serve(t).Log(), "node_env")
}

func TestTheFirstLineSaysWhatIsOn(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, keys, "full-key-0123456789\nother-key-0123456789\n")
	for name, c := range map[string]struct {
		settings []string
		says     string
	}{
		"nothing": {nil, " keys=0 read_keys=0 backups=off fields=name,email"},
		"keys":    {[]string{"API_KEY_FILE=" + keys, "API_READ_KEY=read-key-0123456789"}, " keys=2 read_keys=1 "},
		"fields":  {[]string{"USER_FIELDS=room,city"}, ",room,city\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, c.settings...)
			if line := p.Line(t, "msg=listening"); !strings.Contains(line, c.says) {
				t.Errorf("%q is not in %s", c.says, line)
			}
		})
	}
}

func TestAMistypedSettingIsNamedAndItsValueIsNot(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "API_KYE=secret-0123456789")
	if line := p.Line(t, "variable=API_KYE"); !strings.Contains(line, "level=WARN") || !strings.Contains(line, `"did you mean API_KEY?"`) {
		t.Errorf("it says %s", line)
	}
	_, says, _ := program.Run(t, []string{"DATA_DRI=/secret"}, "index-search")
	if !strings.Contains(says, `variable=DATA_DRI help="did you mean DATA_DIR?"`) {
		t.Errorf("a command says %s", says)
	}
	program.Forbid(t, p.Log()+says, "secret")
}

func TestADataDirectoryMayHaveAnyName(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for _, name := range []string{"with space", "what?", "#1", "100%41", "ünïcode", "a&b=c", "_pragma=x"} {
		directory := filepath.Join(t.TempDir(), name)
		p := program.Serve(t, "DATA_DIR="+directory)
		p.Create(t, "Ada", "ada@example.org")
		if _, err := os.Stat(filepath.Join(directory, "users.db")); err != nil {
			t.Errorf("the users are elsewhere: %v", err)
		}
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

func occupiedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	program.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// listenApart returns settings with which a program listens at a URL that is known before it says so. No client has this
// address, so that none can take the port meanwhile.
func listenApart(t *testing.T) (settings []string, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.77:0")
	program.Must(t, err)
	program.Must(t, listener.Close())
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return []string{"LISTEN_ADDRESS=127.0.0.77", "PORT=" + port}, "http://" + listener.Addr().String()
}

func TestAStartThatCannotWorkEndsWithOneHelpfulLine(t *testing.T) {
	t.Parallel()
	port := occupiedPort(t)
	for _, bad := range []struct{ name, setting, says string }{
		{"a port of letters", "PORT=abc", "PORT…abc…65535"},
		{"a port out of range", "PORT=65536", "PORT…65536"},
		{"a port that is taken", "PORT=" + port, port + "…address already in use…set PORT"},
		{"a field that users have", "USER_FIELDS=email", "USER_FIELDS is…email…every user has the field email already"},
		{"an unknown format", "LOG_FORMAT=xml", "level=ERROR…LOG_FORMAT…xml"},
		{"an unknown level", "LOG_LEVEL=loud", "LOG_LEVEL…loud"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			program.ExpectRefusal(t, program.Launch(t, program.Path(), bad.setting), strings.Split(bad.says, "…")...)
		})
	}
}

func TestADirectoryThatCannotBeUsedEndsTheStart(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR=/dev/null"), "/dev/null", "directory")
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR=/proc/none"), "/proc/none", "DATA_DIR")
	long := filepath.Join(t.TempDir(), strings.Repeat("a", 250), strings.Repeat("b", 250))
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+long), long+"/users.db", "SQLite takes no more than 504", "DATA_DIR to a shorter")
}

func TestAFileThatIsNotADatabaseEndsTheStart(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory := t.TempDir()
	program.WriteFile(t, filepath.Join(directory, "users.db"), strings.Repeat("not a database ", 999))
	p := program.Launch(t, program.Path(), "DATA_DIR="+directory)
	program.ExpectRefusal(t, p, "users.db", "not an SQLite database", "DATA_DIR")
}

func TestADirectoryInThePlaceOfTheFileEndsTheStart(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for _, name := range []string{"users.db", "users.db-wal"} {
		directory := t.TempDir()
		program.Must(t, os.Mkdir(filepath.Join(directory, name), 0o755))
		p := program.Launch(t, program.Path(), "DATA_DIR="+directory)
		program.ExpectRefusal(t, p, filepath.Join(directory, name)+" is a directory: move it away, or set DATA_DIR to another directory")
		program.Forbid(t, p.Log(), "chown")
	}
}
