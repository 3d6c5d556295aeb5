//go:build containers

package containers

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// stream runs compose with an input, and returns its output and its last line of errors.
func (p project) stream(input []byte, arguments ...string) (output []byte, said string, err error) {
	p.t.Helper()
	command := exec.Command("docker", append([]string{"compose", "--project-name", p.name}, arguments...)...)
	command.Dir = p.directory
	command.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err = command.Output()
	return output, lastLine(stderr.String()), err
}

func TestABackupOfTheRunningDeploymentIsRestored(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	p.service("users-api").api().Create(t, "Ada", "ada@example.com")
	backup, said, err := p.stream(nil, "exec", "-T", "users-api", "/app/users-api", "backup", "-")
	if err != nil || !bytes.HasPrefix(backup, []byte("SQLite format 3\x00")) {
		t.Fatalf("the backup of %d bytes: %v, %s", len(backup), err, said)
	}
	program.Expect(t, "what it said", said, fmt.Sprintf("backed up: 1 users, %d bytes, …", len(backup)))
	p.service("users-api").api().Create(t, "After the backup", "after@example.com")
	p.compose("stop", "users-api")
	_, said, err = p.stream(backup, "run", "--rm", "-T", "users-api", "restore", "-")
	if err != nil || !strings.Contains(said, "restored: 1 users") {
		t.Fatalf("the restore: %v, %q", err, said)
	}
	p.compose("start", "users-api")
	p.service("users-api").becomes("healthy", 10*time.Second)
	p.service("users-api").api().ExpectUsers(t, "Ada")
	p.service("users-api").api().Create(t, "After the restore", "after@example.com")
}
