//go:build containers

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// beginning is what it shows first: build, write database_url, and start.
var beginning = regexp.MustCompile("```shell\n(.*\n.*>database_url\\)) &&\n(docker compose up .*)\n")

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
	commands := p.shown(beginning)
	p.run(commands[1])
	if docker(p.t, "image", "inspect", "--format", "{{.Config.User}}", postgres) == "70:70" {
		asRoot(p.t, p.directory, "chown 70 /mnt/database_url") // a stand-in; the real image reads its secrets as root
	}
	return commands[2]
}

// shown returns the parts of a block in the document.
func (p project) shown(block *regexp.Regexp) (parts []string) {
	p.t.Helper()
	parts = block.FindStringSubmatch(p.read(document))
	if parts == nil {
		p.t.Fatalf("%s does not show %s", document, block)
	}
	return parts
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
	p.run(p.shown(regexp.MustCompile("```shell\n(.* exec .* pg_dump .*)\n```"))[1])
	service.api().Create(t, "After the backup", "backup@example.com")
	p.run(p.shown(regexp.MustCompile("```shell\n(.*\n.* exec .* pg_restore .*\n.*)\n```"))[1])
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
	moving := p.shown(regexp.MustCompile("(?s)```shell\n(docker compose stop users-api &&\n.*?)```.*```sh\n(.*?)```"))
	p.run(moving[1] + moving[2])
	p.compose("up", "--detach", "--wait", "users-api-postgres")
	service, _ := p.pair()
	service.api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
	service.api().Create(t, "After the move", "move@example.com")
	docker(t, "rm", "--force", service.name)
	p.compose("up", "--detach", "--wait", "users-api")
	p.service("users-api").api().Do(t, "GET", "/api/users", "").Expect(t, 200, before)
}

// The image is read-only and has no /tmp, and what does not fit into memory goes into a file.
func TestFilesThatDoNotFitIntoMemoryGoIntoPostgreSQLAndOut(t *testing.T) {
	const rows = 100_000 // 4 MB
	p := newPostgreSQLProject(t)
	service, _ := p.pair()
	service.api().Do(t, "POST", program.CSV, program.ManyRows(rows)).Expect(t, 200, program.Imported(rows, 0, 0, 0))
	exported := service.api().Do(t, "GET", program.CSV, "")
	program.Expect(t, "how many users are exported", strings.Count(exported.Body, "@example.org"), rows)
}
