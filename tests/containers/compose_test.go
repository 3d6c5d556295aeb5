//go:build containers

package containers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// project is docker-compose.yml, in a copy of the source tree and under a name of its own.
type project struct {
	t         *testing.T
	directory string
	name      string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{t, copySources(t), unique()}
	t.Setenv("PUBLISH", "127.0.0.1:") // on any free port
	t.Setenv("PORT", "")
	t.Cleanup(func() {
		p.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--rmi", "local")
		asRoot(t, p.directory, "rm -rf /mnt/* /mnt/.[!.]*") // it may belong to another user by now
	})
	return p
}

func (p project) compose(arguments ...string) string {
	p.t.Helper()
	return runIn(p.t, p.directory, "docker", append([]string{"compose", "--project-name", p.name}, arguments...)...)
}

// expectNothing fails the test if the engine still has something of the project.
func (p project) expectNothing() {
	p.t.Helper()
	for _, kind := range []string{"container ls --all", "volume ls", "network ls"} {
		list := append(strings.Fields(kind), "--quiet", "--filter", "label=com.docker.compose.project="+p.name)
		program.Expect(p.t, "what "+kind+" still shows", docker(p.t, list...), "")
	}
}

func (p project) service(name string) container {
	p.t.Helper()
	return container{p.t, p.compose("ps", "--all", "--quiet", name), "3000"}
}

// copySources returns a new directory with the files that git knows or would add.
func copySources(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	const copyTo = `git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null |
		tar --create --files-from=- | tar --extract --directory="$0"` // without what is deleted, and not committed yet
	runIn(t, repository, "sh", "-c", copyTo, directory)
	return directory
}

func TestComposeDeploysTheReleaseImageLockedDownAndKeepsItsUsers(t *testing.T) {
	p := newProject(t)
	p.compose("build")
	p.compose("up", "--detach")
	service := p.service("users-api")
	service.becomes("healthy", 10*time.Second)
	program.Expect(t, "what was started", p.compose("--profile", "*", "ps", "--all", "--services"), "users-api")
	service.api().Create(t, "Ada", "ada@example.com")

	p.compose("stop")
	program.Expect(t, "the exit code of a stop", service.inspect("{{.State.ExitCode}}"), 0)
	p.compose("down")
	p.compose("up", "--detach", "--wait")
	p.service("users-api").api().ExpectUsers(t, "Ada")

	p.compose("down", "--volumes")
	p.compose("up", "--detach", "--wait")
	service = p.service("users-api")
	service.api().ExpectUsers(t)
	service.isLockedDown("volume /app/data")
	program.Expect(t, "who serves", service.process("Uid"), "65532 65532 65532 65532")
	process := service.inspect("{{.State.Pid}}")
	docker(t, "run", "--rm", "--pid", "host", golang, "kill", "-9", process) // `docker kill` would count as a stop
	eventually(t, 10*time.Second, "another process", func() bool {
		now := service.inspect("{{.State.Pid}}")
		return now != process && now != "0"
	})
	service.becomes("healthy", 10*time.Second)
}

// isLockedDown fails the test unless the engine gives a container few rights and these mounts, and starts it again when
// it ends.
func (c container) isLockedDown(mounts ...string) {
	c.t.Helper()
	for format, want := range map[string]string{
		"{{.HostConfig.SecurityOpt}}":        "[no-new-privileges:true]",
		"{{.HostConfig.RestartPolicy.Name}}": "unless-stopped",
		"{{json .HostConfig.LogConfig}}":     `{"Type":"json-file","Config":{"max-file":"5","max-size":"10m"}}`,
	} {
		program.Expect(c.t, format, c.inspect(format), want)
	}
	given := strings.Split(c.inspect("{{range .Mounts}}{{.Type}} {{.Destination}}\n{{end}}"), "\n")
	slices.Sort(given)
	program.Expect(c.t, "what is mounted", strings.Join(given, ", "), strings.Join(mounts, ", "))
	isReadOnly := c.inspect("{{.HostConfig.ReadonlyRootfs}}") == "true"
	program.Expect(c.t, "that its root is read-only", isReadOnly, slices.Contains(mounts, "volume /app/data"))
}

func TestEachServiceButTheDatabaseIsPublishedOnPort3000OfThisMachineByDefault(t *testing.T) {
	for _, c := range []struct {
		name                       string
		environment                []string
		address, published, target string
		told                       string // to the service
	}{
		{"nothing set", nil, "127.0.0.1", "3000", "3000", "127.0.0.1:3000"},
		{"PORT", []string{"PORT=8080"}, "127.0.0.1", "8080", "8080", "127.0.0.1:8080"},
		{"PUBLISH for others", []string{"PUBLISH=80"}, "", "80", "3000", "80"},
		{"PUBLISH with an address", []string{"PUBLISH=[::1]:80"}, "::1", "80", "3000", "[::1]:80"},
		{"both", []string{"PORT=8080", "PUBLISH=80"}, "", "80", "8080", "80"},
	} {
		t.Run(c.name, func(t *testing.T) {
			services := readCompose(t, c.environment)
			if ports := services["postgres"].Ports; len(ports) != 0 || len(services) != 4 {
				t.Errorf("of %d services, the database is published as %+v", len(services), ports)
			}
			delete(services, "postgres")
			for name, service := range services {
				port := service.Ports[0]
				if port.Address != c.address || port.Published != c.published || string(port.Target) != c.target {
					t.Errorf("%s is published as %+v", name, port)
				}
				if inside := service.Environment["PORT"]; inside != nil && *inside != c.target || inside == nil && c.target != "3000" {
					t.Errorf("%s does not listen where it is published from: PORT is %v in it", name, inside)
				}
				program.Expect(t, "where "+name+" is told that it is published", *service.Environment["PUBLISH"], c.told)
			}
		})
	}
}

type composeService struct {
	Ports []struct {
		Address   string `json:"host_ip"`
		Published string
		Target    json.Number
	}
	Environment map[string]*string
}

// readCompose returns the services of docker-compose.yml, or of the files given with --file, as compose understands them in an
// environment.
func readCompose(t *testing.T, environment []string, files ...string) map[string]composeService {
	t.Helper()
	if err := exec.Command("docker", "compose", "version").Run(); err != nil { // no engine is needed
		t.Skipf("there is no docker compose: %v", err)
	}
	arguments := append(append([]string{"compose", "--env-file", os.DevNull}, files...), "--profile", "*", "config", "--format", "json")
	command := exec.Command("docker", arguments...)
	command.Dir = repository
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, environment...)
	output, err := command.Output()
	program.Must(t, err)
	var file struct{ Services map[string]composeService }
	program.Must(t, json.Unmarshal(output, &file))
	return file.Services
}

// The images of etcd and PostgreSQL cannot be had where the tests run: compose reads the file, and nothing of it is started. What
// Patroni is told there is what docs/patroni.env tells it.
func TestTheClusterOfComposeIsTheDocumentedOne(t *testing.T) {
	var settings strings.Builder
	for _, name := range []string{"etcd.env", "patroni.env"} {
		settings.WriteString(program.ReadFile(t, filepath.Join(repository, "docs", name)))
	}
	names := regexp.MustCompile(`(?m)^((?:PATRONI|ETCD)_\w+)=`).FindAllStringSubmatch(settings.String(), -1)
	program.Expect(t, "how many settings docs/etcd.env and docs/patroni.env have", len(names), 12+7)
	services := readCompose(t, []string{"SUPERUSER_PASSWORD=a", "REPLICATION_PASSWORD=b", "RESTAPI_PASSWORD=c", "USERS_PASSWORD=d"},
		"--file", "docker-compose.ha.yml")
	for _, name := range names {
		service := strings.ToLower(name[1][:strings.Index(name[1], "_")])
		for _, machine := range []string{"1", "2", "3"} {
			of := strings.Replace(service, "patroni", "pg", 1) + machine
			if value := services[of].Environment[name[1]]; value == nil || *value == "" {
				t.Errorf("docker-compose.ha.yml does not set %s for %s", name[1], of)
			}
		}
	}
	url := services["users-api"].Environment["DATABASE_URL"]
	program.Expect(t, "the URL of the service", *url, "postgres://users:d@pg1,pg2,pg3/users")
}

// overrides writes the file for keys that docs/installing.md shows. What git knows stays as it is.
func (p project) overrides() {
	p.t.Helper()
	shown := p.block("docs/installing.md", "# docker-compose.override.yml\n")
	program.WriteFile(p.t, filepath.Join(p.directory, "docker-compose.override.yml"), shown)
}

func TestComposeAsksForTheKeyInASecretAndExchangesItWithARestart(t *testing.T) {
	const first, second = "first-key-0123456789", "second-key-0123456789"
	p := newProject(t)
	p.overrides()
	config := p.compose("--profile", "postgres", "config", "users-api-postgres")
	_, beside, _ := strings.Cut(config, "\n  users-api-postgres:\n")
	for _, line := range []string{"API_KEY_FILE: /run/secrets/api_key", "- source: api_key", "- source: database_url"} {
		program.Expect(t, "the service beside PostgreSQL", beside, "…"+line+"…")
	}
	secret := filepath.Join(p.directory, "api_key")
	expect := func(keys string, want map[string]int) {
		t.Helper()
		program.Must(t, os.WriteFile(secret, []byte(keys), 0o600))
		p.compose("up", "--detach", "--wait")
		p.compose("restart")
		service := p.service("users-api")
		service.becomes("healthy", 10*time.Second)
		for key, status := range want {
			service.api().Do(t, "GET", "/api/users", "", "Authorization: Bearer "+key).Expect(t, status, "…")
		}
		program.Forbid(t, service.log(), first, second, "anyone") // a key, or the warning of an open service
	}
	expect(first+"\n", map[string]int{"": 401, first: 200, second: 401})
	expect(first+"\n"+second+"\n", map[string]int{"": 401, first: 200, second: 200})
	expect(second+"\r\n", map[string]int{"": 401, first: 401, second: 200})
}
