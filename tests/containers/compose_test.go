//go:build containers

package containers

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// service returns the container of a service.
func (p project) service(name string) container {
	p.t.Helper()
	return container{p.t, p.compose("ps", "--all", "--quiet", name), "3000"}
}

// copySources returns a new directory with the files that git knows or would add.
func copySources(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for name := range strings.SplitSeq(runIn(t, repository, "git", "ls-files", "--cached", "--others", "--exclude-standard"), "\n") {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			continue // deleted, and not committed yet
		}
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestComposeDeploysTheReleaseImageAndKeepsItsUsers(t *testing.T) {
	p := newProject(t)
	p.compose("build")
	begin := time.Now()
	p.compose("up", "--detach")
	service := p.service("users-api")
	service.becomes("healthy", 10*time.Second)
	t.Logf("healthy %s after `docker compose up -d`", time.Since(begin).Round(10*time.Millisecond))
	if services := p.compose("--profile", "*", "ps", "--all", "--services"); services != "users-api" {
		t.Errorf("it started %q, and not the deployment alone", services)
	}
	service.api().mustCreate("ada@example.com")

	p.compose("down")
	p.compose("up", "--detach", "--wait")
	p.service("users-api").api().mustHave([]string{"ada@example.com"})

	p.compose("down", "--volumes")
	p.compose("up", "--detach", "--wait")
	if emails := p.service("users-api").api().emails(); len(emails) != 0 {
		t.Errorf("after `docker compose down -v` it lists %v", emails)
	}
}

func TestABackupOfTheStoppedServiceIsRestoredIntoAnEmptyVolume(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	p.service("users-api").api().mustCreate("ada@example.com")
	p.compose("stop", "users-api")
	backup := filepath.Join(t.TempDir(), "backup.db")
	p.compose("cp", "users-api:/app/data/users.db", backup)
	p.compose("start")
	p.service("users-api").becomes("healthy", 10*time.Second)
	p.service("users-api").api().mustCreate("after-the-backup@example.com")

	p.compose("down")
	docker(t, "volume", "rm", p.name+"_data")
	p.compose("create")
	p.compose("cp", backup, "users-api:/app/data/users.db")
	p.compose("up", "--detach", "--wait")
	emails := p.service("users-api").api().emails()
	if want := map[string]bool{"ada@example.com": true}; !maps.Equal(emails, want) {
		t.Errorf("after the restore it lists %v, and not %v", emails, want)
	}
	p.service("users-api").api().mustCreate("after-the-restore@example.com")
}

func TestTheDeploymentIsReadOnlyGainsNoPrivilegesRotatesItsLogAndComesBack(t *testing.T) {
	p := newProject(t)
	p.compose("up", "--detach", "--wait")
	service := p.service("users-api")
	for format, want := range map[string]string{
		"{{.HostConfig.ReadonlyRootfs}}":                     "true",
		"{{.HostConfig.SecurityOpt}}":                        "[no-new-privileges:true]",
		"{{.HostConfig.RestartPolicy.Name}}":                 "unless-stopped",
		"{{json .HostConfig.LogConfig}}":                     `{"Type":"json-file","Config":{"max-file":"5","max-size":"10m"}}`,
		"{{range .Mounts}}{{.Type}} {{.Destination}}{{end}}": "volume /app/data",
	} {
		if got := service.inspect(format); got != want {
			t.Errorf("%s is %q, and not %q", format, got, want)
		}
	}
	if uid := service.process("Uid"); uid != "65532 65532 65532 65532" {
		t.Errorf("it serves as %s", uid)
	}

	process := service.inspect("{{.State.Pid}}")
	docker(t, "run", "--rm", "--pid", "host", golang, "kill", "-9", process) // `docker kill` would count as a stop
	eventually(t, 10*time.Second, "another process", func() bool {
		now := service.inspect("{{.State.Pid}}")
		return now != process && now != "0"
	})
	service.becomes("healthy", 10*time.Second)
}

func TestEachServiceButTheDatabaseIsPublishedOnPort3000ByDefault(t *testing.T) {
	for _, c := range []struct {
		name                       string
		environment                []string
		address, published, target string
	}{
		{"nothing set", nil, "", "3000", "3000"},
		{"PORT", []string{"PORT=8080"}, "", "8080", "8080"},
		{"PUBLISH", []string{"PUBLISH=127.0.0.1:80"}, "127.0.0.1", "80", "3000"},
		{"both", []string{"PORT=8080", "PUBLISH=80"}, "", "80", "8080"},
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
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]composeService }
	if err := json.Unmarshal(output, &file); err != nil {
		t.Fatal(err)
	}
	return file.Services
}
