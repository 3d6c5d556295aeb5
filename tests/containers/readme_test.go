//go:build containers

package containers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// block returns the one block of a document of the project that contains a text.
func (p project) block(document, contains string) string {
	p.t.Helper()
	for _, block := range regexp.MustCompile("(?s)```\\w*\n(.*?)```").FindAllStringSubmatch(p.read(document), -1) {
		if strings.Contains(block[1], contains) {
			return block[1]
		}
	}
	p.t.Fatalf("%s shows no %s", document, contains)
	return ""
}

// newDocumentedProject is newProject for blocks of documents, which do not name it, with the deployment running.
func newDocumentedProject(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	t.Setenv("COMPOSE_PROJECT_NAME", p.name)
	p.run("docker compose up -d --wait")
	return p
}

// settings writes .env.
func (p project) settings(lines string) {
	p.t.Helper()
	program.Must(p.t, os.WriteFile(filepath.Join(p.directory, ".env"), []byte(lines), 0o600))
}

// fails starts the service, which must fail.
func (p project) fails() {
	p.t.Helper()
	command := exec.Command("docker", "compose", "--project-name", p.name, "up", "--detach", "--wait")
	command.Dir = p.directory
	if output, err := command.CombinedOutput(); err == nil {
		p.t.Fatalf("the service starts: %s", output)
	}
}

func (p project) users() *program.Program {
	p.t.Helper()
	return p.service("users-api").api()
}

func TestTheKeyThatREADMEMakesIsInForce(t *testing.T) {
	p := newDocumentedProject(t)
	p.users().Create(t, "Ada", "ada@example.org")
	p.run(p.block("README.md", "users-api key)"))
	key := strings.TrimPrefix(strings.TrimSpace(p.read(".env")), "API_KEY=")
	env, err := os.Stat(filepath.Join(p.directory, ".env"))
	program.Must(t, err)
	program.Expect(t, "who may read the key", env.Mode(), os.FileMode(0o600))
	p.users().Do(t, "GET", "/api/users", "").Expect(t, 401, "…")
	p.users().Do(t, "GET", "/api/users", "", "Authorization: Bearer "+key).Expect(t, 200, `[{"id":1,…}]`)
	program.Forbid(t, p.service("users-api").log(), "anyone who can reach this port")
}

func TestFieldsAreAddedToAServiceWithUsersAsREADMESays(t *testing.T) {
	p := newDocumentedProject(t)
	p.users().Create(t, "Ada", "ada@example.org")
	p.run(p.block("README.md", "add-field phone"))
	p.users().Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…,"phone":null,"joined":null}]`)

	p.settings("USER_FIELDS=phone,joined:date,room\n") // the other way round
	p.fails()
	service := p.service("users-api")
	for _, says := range []string{"run `users-api add-field room`, or take what is missing out of USER_FIELDS",
		"With compose, write `docker compose run --rm -T users-api` for `users-api`."} {
		program.Expect(t, "the log", service.log(), "…"+says+"…")
	}
	eventually(t, time.Minute, "waiting for the next attempt", func() bool { // Docker waits longer and longer
		return service.inspect("{{.State.Restarting}}") == "true" && service.inspect("{{.RestartCount}}") > "5"
	})
	p.run("docker compose run --rm -T users-api add-field room")
	again := regexp.MustCompile("`(docker compose up [^`]* --force-recreate)`").FindStringSubmatch(p.read("README.md"))
	p.run(again[1])
	p.users().Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…,"room":null}]`)
}

func TestABackupIsMadeRestoredAndMovedAsDocumented(t *testing.T) {
	p := newDocumentedProject(t)
	p.users().Create(t, "Ada", "ada@example.com")
	p.run(p.block("README.md", " backup - "))
	p.users().Create(t, "After the backup", "after@example.com")
	p.run(p.block("README.md", " restore - "))
	p.users().ExpectUsers(t, "Ada")
	other := newProject(t)
	t.Setenv("COMPOSE_PROJECT_NAME", other.name)
	program.Must(t, os.WriteFile(filepath.Join(other.directory, "users-backup.db"), []byte(p.read("users-backup.db")), 0o600))
	other.settings("API_KEY=key-of-the-old-machine\n")
	other.run(other.block("docs/backup.md", "docker compose build"))
	other.users().Do(t, "GET", "/api/users", "").Expect(t, 401, "…")
	other.users().Do(t, "GET", "/api/users", "", "X-API-Key: key-of-the-old-machine").Expect(t, 200, `[{"id":1,"name":"Ada",…}]`)
}
