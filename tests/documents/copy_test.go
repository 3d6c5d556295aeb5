package documents

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// The script in README.md keeps a copy, however often it and the service are killed.
func TestTheREADMEsScriptKeepsACopyThroughKills(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the script needs %s, which is not here", tool)
		}
	}
	script := regexp.MustCompile("(?s)```shell\n(#!/bin/sh\n.*?)```").FindStringSubmatch(read(t, "../../README.md"))
	if script == nil {
		t.Fatal("README.md has no script")
	}
	p := program.ServeFeed(t)
	address, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	follow := func() *exec.Cmd {
		command := exec.Command("sh", "-c", strings.ReplaceAll(script[1], "http://localhost:3000", p.URL))
		command.Dir, command.SysProcAttr = directory, &syscall.SysProcAttr{Setpgid: true}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() }) // its curl, too
		return command
	}
	follower := follow()
	for round := range 4 {
		for i := range 5 {
			p.Create(t, fmt.Sprintf(`\n "%d" é`, i), fmt.Sprint(round, "-", i))
		}
		p.Do(t, "PATCH", fmt.Sprint("/api/users/", 5*round+1), fmt.Sprintf(`{"name":"round %d"}`, round))
		p.Delete(t, int64(5*round+2))
		expectCopy(t, p, directory)
		_ = follower.Process.Kill() // and its curl goes on
		p.Create(t, "while nothing follows", fmt.Sprint(round))
		p.Kill(t)
		follower = follow()
		p = program.Serve(t, "DATA_DIR="+p.DataDir, "PORT="+address.Port())
	}
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(10_001)
	expectCopy(t, p, directory)
	for _, what := range []string{"off", "on"} { // the place of the copy is no longer valid
		p.Run(t, "changes", what)
	}
	p.Create(t, "afterwards", "afterwards")
	expectCopy(t, p, directory)
}

// expectCopy waits until the copy in a directory has all users as they are.
func expectCopy(t *testing.T, p *program.Program, directory string) {
	t.Helper()
	want := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))
	program.WaitFor(t, "the copy is complete", func() bool {
		text, err := os.ReadFile(filepath.Join(directory, "copy.json"))
		var copied struct{ Users map[string]json.RawMessage }
		if err == nil {
			err = json.Unmarshal(text, &copied)
		}
		got := map[string]string{}
		for id, user := range copied.Users {
			got[id] = program.WithoutAdded(string(user))
		}
		return err == nil && maps.Equal(got, want)
	})
}
