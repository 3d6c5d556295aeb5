//go:build containers

package containers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	if want := fmt.Sprintf("backed up: 1 users, %d bytes, ", len(backup)); !strings.HasPrefix(said, want) {
		t.Errorf("it said %q, and not %q", said, want)
	}
	p.service("users-api").api().Create(t, "After the backup", "after@example.com")

	_, said, err = p.stream(backup, "exec", "-T", "users-api", "/app/users-api", "restore", "-")
	if err == nil || !strings.Contains(said, "has the database /app/data/users.db open: stop the service") {
		t.Errorf("a restore beside the running service: %v, %q", err, said)
	}
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

func TestTheDeploymentMakesBackupsByItself(t *testing.T) {
	p := newProject(t)
	t.Setenv("BACKUP_EVERY", "24h")
	p.compose("up", "--detach", "--wait")
	service := p.service("users-api")
	eventually(t, 10*time.Second, "a backup", func() bool { return strings.Contains(service.log(), "backup made") })
	directory := filepath.Join(t.TempDir(), "backups")
	p.compose("cp", "users-api:/app/data/backups", directory)
	backups, err := os.ReadDir(directory)
	if err != nil || len(backups) != 1 || !strings.HasPrefix(backups[0].Name(), "users-") {
		t.Errorf("the backups are %v, %v", backups, err)
	}
}

func TestBackupsGoIntoADirectoryThatRootOwns(t *testing.T) {
	directory := ownedBy(t, 0)
	service := startHealthy(t, data(newVolume(t), "--read-only", "--env", "BACKUP_EVERY=24h", "--env", "BACKUP_DIR=/backups",
		"--volume", directory+":/backups")...)
	eventually(t, 10*time.Second, "a backup", func() bool { return strings.Contains(service.log(), "backup made") })
	if names := asRoot(t, directory, "ls /mnt"); !strings.HasPrefix(names, "users-") {
		t.Errorf("in the directory are %q", names)
	}
}

func TestTheImageKnowsItsVersion(t *testing.T) {
	name := unique()
	docker(t, "build", "--build-arg", "VERSION=1.2.3", "--build-arg", "REVISION=abcdef0", "--tag", name, repository)
	t.Cleanup(func() { docker(t, "image", "rm", "--force", name) })
	if said := docker(t, "run", "--rm", name, "--version"); said != "users-api 1.2.3 (abcdef0)" {
		t.Errorf("it says %q", said)
	}
}
