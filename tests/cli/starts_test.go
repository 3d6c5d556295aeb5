package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheFirstLineSaysWhatIsOn(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, keys, "full-key-0123456789\nother-key-0123456789\n")
	for name, c := range map[string]struct{ settings, says string }{
		"nothing":     {"A=b", "address=http://…database=… keys=0 read_keys=0 backups=off fields=name,email…"},
		"a NODE_ENV":  {"NODE_ENV=development", "node_env=development keys=0"},
		"keys":        {"API_KEY_FILE=" + keys + "|API_READ_KEY=read-key-0123456789", " keys=2 read_keys=1 "},
		"fields":      {"USER_FIELDS= room ,\tcity", ",room,city\n"},
		"other names": {"USER_FIELDS=group,null,orders,e,a_1,b__2_", ",group,null,orders,e,a_1,b__2_\n"},
		"32 fields":   {"USER_FIELDS=" + numbered(31) + "," + longName, "," + numbered(31) + "," + longName + "\n"},
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
	for _, name := range []string{"not/there yet", "what?", "#1", "100%41", "a&_pragma=c"} {
		directory := filepath.Join(t.TempDir(), name)
		p := program.Serve(t, "DATA_DIR="+directory)
		p.Create(t, "Ada", "ada@example.org")
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
	before := p.Do(t, "GET", "/api/users/1", "").Body
	p.Delete(t, last)
	p.Stop(t)
	again := program.Serve(t, "DATA_DIR="+p.DataDir)
	again.Do(t, "GET", "/api/users", "").Expect(t, 200, "["+before+"]")
	program.Expect(t, "the id after a deletion of the last", again.Create(t, "Next", "next@example.org"), last+1)
}
