//go:build containers

package containers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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

func TestABackupIsMadeRestoredAndMovedAsDocumented(t *testing.T) {
	p := newDocumentedProject(t)
	p.users().Create(t, "Ada", "ada@example.com")
	p.run(p.block("README.md", " backup - "))
	p.users().Create(t, "After the backup", "after@example.com")
	p.run(p.block("README.md", " restore - "))
	p.users().ExpectUsers(t, "Ada")
	backup, err := os.ReadFile(filepath.Join(p.directory, "users-backup.db"))
	program.Must(t, err)
	p.run("docker compose run --rm -T --entrypoint /nothing users-api backup - >users-backup.db.new && mv users-backup.db.new users-backup.db || true")
	if kept, err := os.ReadFile(filepath.Join(p.directory, "users-backup.db")); err != nil || string(kept) != string(backup) {
		t.Errorf("a backup that fails leaves %d bytes of %d, %v", len(kept), len(backup), err)
	}

	other := newProject(t)
	t.Setenv("COMPOSE_PROJECT_NAME", other.name)
	program.Must(t, os.WriteFile(filepath.Join(other.directory, "users-backup.db"), backup, 0o600))
	other.settings("API_KEY=key-of-the-old-machine\n")
	other.run(other.block("docs/backup.md", "docker compose build"))
	other.users().Do(t, "GET", "/api/users", "").Expect(t, 401, "…")
	other.users().Do(t, "GET", "/api/users", "", "X-API-Key: key-of-the-old-machine").Expect(t, 200, `[{"id":1,"name":"Ada",…}]`)
}
