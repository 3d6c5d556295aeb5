//go:build containers

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// sorted returns lines in the order of the alphabet.
func sorted(lines string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(lines, "\n")), "\n")
}

func (p project) read(name string) string {
	p.t.Helper()
	text := program.ReadFile(p.t, filepath.Join(p.directory, name))
	return text
}

// pair returns the containers of the service and its database.
func (p project) pair() (service, database container) {
	p.t.Helper()
	return p.service("users-api-postgres"), p.service("postgres")
}

func TestComposeKeepsUsersInPostgreSQLThroughRestartsAndKills(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, database := p.pair()
	if log := service.log(); !strings.Contains(log, "database=postgres://postgres:5432/users") {
		t.Fatalf("it does not say that it serves from PostgreSQL: %s", log)
	}
	names := []string{"first"}
	service.api().Create(t, "first", "first")
	for _, interruption := range []struct {
		name  string
		cause func()
	}{
		{"the service is restarted", func() { docker(t, "restart", service.name) }},
		{"the service is killed", func() { docker(t, "kill", service.name); docker(t, "start", service.name) }},
		{"the database is restarted", func() { docker(t, "restart", database.name) }},
		{"the database is killed", func() { docker(t, "kill", database.name); docker(t, "start", database.name) }},
		{"both are killed, and started at once", func() {
			docker(t, "kill", service.name, database.name)
			docker(t, "start", service.name, database.name)
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
}

// Docker starts containers after a restart of the machine in no order.
func TestTheServiceWaitsForAPostgreSQLThatIsSlowToCome(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, database := p.pair()
	docker(t, "stop", service.name, database.name)
	docker(t, "start", service.name)
	eventually(t, slowStart, "waiting", func() bool { return strings.Contains(service.log(), "waiting for PostgreSQL") })
	docker(t, "start", database.name)
	service.becomes("healthy", slowStart)
	service.api().Create(t, "Ada", "ada@example.com")
	if restarts := service.inspect("{{.RestartCount}}"); restarts != "0" {
		t.Errorf("it gave up %s times", restarts)
	}
}

func TestTheDeploymentWithPostgreSQLIsLockedDownAndNeverShowsItsPassword(t *testing.T) {
	p := newPostgreSQLProject(t)
	service, database := p.pair()
	log := `{"Type":"json-file","Config":{"max-file":"5","max-size":"10m"}}`
	mounts := "{{range .Mounts}}{{.Type}} {{.Destination}}\n{{end}}"
	for _, want := range []struct {
		of           container
		format, text string
	}{
		{service, "{{.HostConfig.ReadonlyRootfs}}", "true"},
		{service, "{{.HostConfig.SecurityOpt}}", "[no-new-privileges:true]"},
		{service, "{{.HostConfig.RestartPolicy.Name}}", "unless-stopped"},
		{service, "{{json .HostConfig.LogConfig}}", log},
		{service, mounts, "bind /run/secrets/database_url\nvolume /app/data"},
		{database, "{{.HostConfig.SecurityOpt}}", "[no-new-privileges:true]"},
		{database, "{{.HostConfig.RestartPolicy.Name}}", "unless-stopped"},
		{database, "{{json .HostConfig.LogConfig}}", log},
		{database, mounts, "bind /run/secrets/database_url\nvolume /var/lib/postgresql/data"},
		{database, "{{.HostConfig.PortBindings}}", "map[]"},
	} {
		if got := want.of.inspect(want.format); sorted(got) != want.text {
			t.Errorf("%s is %q, and not %q", want.format, got, want.text)
		}
	}
	if uid := service.process("Uid"); uid != "65532 65532 65532 65532" {
		t.Errorf("it serves as %s", uid)
	}
	p.expectPasswordNowhere()
	runIn(t, repository, "git", "check-ignore", "database_url") // it fails where git would add the file
}

// expectPasswordNowhere looks for the password wherever an operator or a collector of logs looks.
func (p project) expectPasswordNowhere() {
	p.t.Helper()
	_, rest, _ := strings.Cut(p.read("database_url"), "users:")
	password, _, _ := strings.Cut(rest, "@")
	if len(password) < 16 {
		p.t.Fatalf("the password is %q", password)
	}
	service, database := p.pair()
	for _, text := range []string{service.log(), database.log(), service.inspect("{{json .}}"), database.inspect("{{json .}}"),
		p.compose("--profile", "*", "config")} {
		if strings.Contains(text, password) {
			p.t.Errorf("the password is in %s", text)
		}
	}
}

func TestADownWithVolumesLeavesNothingOfPostgreSQL(t *testing.T) {
	p := newPostgreSQLProject(t)
	p.compose("--profile", "postgres", "down", "--volumes")
	p.expectNothing()
}

func TestTheServiceWithPostgreSQLAsksForTheKeyToo(t *testing.T) {
	p := newProject(t)
	p.overrides()
	config := p.compose("--profile", "postgres", "config", "users-api-postgres")
	_, service, _ := strings.Cut(config, "\n  users-api-postgres:\n")
	for _, line := range []string{"API_KEY_FILE: /run/secrets/api_key", "- source: api_key", "- source: database_url"} {
		if !strings.Contains(service, line) {
			t.Errorf("%q is missing in the service: %s", line, config)
		}
	}
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
