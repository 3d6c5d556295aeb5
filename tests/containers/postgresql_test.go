//go:build containers

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

const postgres = "postgres:17-alpine"

// slowStart is how long a server and the service may take on a busy machine.
const slowStart = time.Minute

// document says how the service runs with PostgreSQL beside it.
const document = "docs/postgresql.md"

// newPostgreSQLProject starts docker-compose.yml with PostgreSQL, as the document says.
func newPostgreSQLProject(t *testing.T) project {
	t.Helper()
	p := newProject(t)
	p.run(p.writeURL())
	return p
}

// writeURL builds and makes database_url, as the document says, and returns what it says to run next.
func (p project) writeURL() (next string) {
	p.t.Helper()
	p.t.Setenv("COMPOSE_PROJECT_NAME", p.name)
	writes, starts, _ := strings.Cut(p.block(document, ">database_url)"), "&&\ndocker compose up")
	p.run(writes)
	if docker(p.t, "image", "inspect", "--format", "{{.Config.User}}", postgres) == "70:70" {
		asRoot(p.t, p.directory, "chown 70 /mnt/database_url") // a stand-in; the real image reads its secrets as root
	}
	return "docker compose up" + starts
}

// run runs lines of a document in a shell.
func (p project) run(lines string) {
	p.t.Helper()
	runIn(p.t, p.directory, "sh", "-ec", lines)
}

func (p project) read(name string) string {
	p.t.Helper()
	return program.ReadFile(p.t, filepath.Join(p.directory, name))
}

// pair returns the containers of the service and its database.
func (p project) pair() (service, database container) {
	p.t.Helper()
	return p.service("users-api-postgres"), p.service("postgres")
}

func TestTheDeploymentWithPostgreSQLIsLockedDownAndKeepsItsUsers(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, database := p.pair()
	program.Expect(t, "the log", service.log(), "…database=postgres://postgres:5432/users…")
	service.isLockedDown("bind /run/secrets/database_url", "volume /app/data")
	database.isLockedDown("bind /run/secrets/database_url", "volume /var/lib/postgresql/data")
	_, password, _ := strings.Cut(p.read("database_url"), "users:")
	password, _, _ = strings.Cut(password, "@")
	if len(password) < 16 {
		t.Fatalf("the password is %q", password)
	}
	for _, text := range []string{service.log(), database.log(), service.inspect("{{json .}}"), database.inspect("{{json .}}"),
		p.compose("--profile", "*", "config")} { // wherever an operator or a collector of logs looks
		program.Forbid(t, text, password)
	}
	const rows = 100_000 // 4 MB, more than is held in memory; the image is read-only and has no /tmp
	service.api().Do(t, "POST", program.CSV+"?dry_run=true", program.ManyRows(rows)).Expect(t, 200, program.Imported(rows, 0, 0, 0))
	names := []string{"first"}
	service.api().Create(t, "first", "first")
	for _, interruption := range []struct {
		name  string
		cause func()
	}{
		{"both are killed, and the database comes second", func() { // as after a restart of the machine
			docker(t, "kill", service.name, database.name)
			docker(t, "start", service.name)
			eventually(t, slowStart, "waiting", func() bool {
				return strings.Contains(service.log(), "waiting for PostgreSQL")
			})
			docker(t, "start", database.name)
			service.becomes("healthy", slowStart)
			program.Expect(t, "how often the service gave up", service.inspect("{{.RestartCount}}"), 0)
		}},
		{"both are removed, and made again", func() {
			p.compose("--profile", "postgres", "down")
			p.compose("up", "--detach", "--wait", "users-api-postgres")
			service, database = p.pair()
		}},
	} {
		t.Run(interruption.name, func(t *testing.T) {
			interruption.cause()
			database.becomes("healthy", slowStart)
			service.becomes("healthy", slowStart)
			eventually(t, slowStart, "a creation", func() bool {
				answer, _ := service.api().Send("POST", "/api/users", program.Body(interruption.name, interruption.name))
				return answer.Status == 201
			})
			names = append(names, interruption.name)
			service.api().ExpectUsers(t, names...)
		})
	}
	p.compose("--profile", "postgres", "down", "--volumes")
	p.expectNothing()
}

func TestPostgreSQLDoesNotStartWithAPasswordThatTheTwoWouldReadDifferently(t *testing.T) {
	p := newProject(t)
	for _, url := range []string{"postgres://users:a%40b@postgres/users", "postgres://users@postgres/users", "", "secret"} {
		program.Must(t, os.WriteFile(filepath.Join(p.directory, "database_url"), []byte(url), 0o644))
		p.compose("up", "--detach", "--force-recreate", "postgres")
		database := p.service("postgres")
		eventually(t, slowStart, fmt.Sprintf("a refusal of %q", url), func() bool {
			return strings.Contains(database.log(), "database_url must be as the top of docker-compose.yml says")
		})
	}
}

func TestABackupOfPostgreSQLIsRestoredAsDocumented(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	service.api().Create(t, "Ada", "ada@example.com")
	p.run(p.block(document, " exec -T postgres pg_dump "))
	service.api().Create(t, "After the backup", "backup@example.com")
	p.run(p.block(document, " exec -T postgres pg_restore "))
	service.becomes("healthy", slowStart)
	service.api().Create(t, "After the restore", "restore@example.com")
	service.api().ExpectUsers(t, "Ada", "After the restore")
}

func TestTheUsersOfTheFileMoveToPostgreSQLAsDocumented(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	file := p.service("users-api").api()
	file.Delete(t, file.Create(t, "Deleted", "deleted@example.com"))
	file.Create(t, "Ada", "ada@example.com")
	before := file.Do(t, "GET", "/api/users", "").Body
	p.writeURL()
	p.run(p.block(document, "\nfile=users-moved.db\n") + p.block(document, "sqlite3 "))
	p.compose("up", "--detach", "--wait", "users-api-postgres")
	service, _ := p.pair()
	service.api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	service.api().Create(t, "After the move", "move@example.com")
	docker(t, "rm", "--force", service.name)
	p.compose("up", "--detach", "--wait", "users-api")
	p.service("users-api").api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
}
