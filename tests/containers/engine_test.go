//go:build containers

// Package containers tests the image, the deployment and the development run on a real engine:
//
//	go test -tags containers -timeout 20m ./tests/containers
//
// Without an engine the tests are skipped. They talk to 127.0.0.1 only and remove what they made. The names of what an interrupted
// run has left begin with users-api-test.
package containers

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

const (
	repository = "../.."
	// golang is the image that the Dockerfile builds in. It also lends the tests a shell, which a scratch image lacks.
	golang = "golang:1.26-alpine"
)

var (
	run      = "users-api-test-" + random() // begins the name of all that this run makes
	image    = unique()                     // the release image, built once for all tests
	noEngine string                         // why the tests cannot run here
)

func TestMain(m *testing.M) {
	noEngine = lookForEngine()
	if noEngine == "" {
		build := exec.Command("docker", "build", "--build-arg", "VERSION=1.2.3", "--build-arg", "REVISION=abcdef0",
			"--tag", image, repository)
		if output, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "docker build: %v\n%s", err, output)
			os.Exit(1)
		}
	}
	code := m.Run()
	if noEngine == "" {
		_ = exec.Command("docker", "image", "rm", "--force", image).Run()
	}
	os.Exit(code)
}

func lookForEngine() string {
	for _, question := range []string{"docker version", "docker compose version", "docker buildx version"} {
		words := strings.Fields(question)
		if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Sprintf("no container engine answers: %s: %v: %s", question, err, lastLine(string(output)))
		}
	}
	return ""
}

func unique() string { return run + "-" + random() }

func random() string { return strings.ToLower(rand.Text()[:8]) }

// docker runs a docker command and returns what it printed. The test is skipped where no engine answers.
func docker(t *testing.T, arguments ...string) string {
	t.Helper()
	return runIn(t, "", "docker", arguments...)
}

func runIn(t *testing.T, directory, name string, arguments ...string) string {
	t.Helper()
	if noEngine != "" {
		t.Skip(noEngine)
	}
	command := exec.Command(name, arguments...)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// asRoot runs a shell command as root on a directory of this machine, which it sees as /mnt.
func asRoot(t *testing.T, directory, command string) string {
	t.Helper()
	return docker(t, "run", "--rm", "--volume", directory+":/mnt", golang, "sh", "-c", command)
}

// newVolume returns the name of an empty volume.
func newVolume(t *testing.T) string {
	t.Helper()
	name := docker(t, "volume", "create", unique())
	t.Cleanup(func() { docker(t, "volume", "rm", "--force", name) })
	return name
}

// eventually asks until the answer is yes, and fails the test when it still is no after the time given.
func eventually(t *testing.T, within time.Duration, what string, yes func() bool) {
	t.Helper()
	for start := time.Now(); !yes(); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > within {
			t.Fatalf("after %s still not: %s", within, what)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// container is one container, made by a test or by compose.
type container struct {
	t    *testing.T
	name string
	port string // inside the container
}

// start runs the release image with more options of `docker run`.
func start(t *testing.T, options ...string) container {
	t.Helper()
	return startOn(t, "3000", options...)
}

func startOn(t *testing.T, port string, options ...string) container {
	t.Helper()
	c := container{t, unique(), port}
	t.Cleanup(func() { docker(t, "rm", "--force", "--volumes", c.name) })
	docker(t, append(append([]string{"run", "--detach", "--name", c.name, "--publish", "127.0.0.1::" + port}, options...), image)...)
	return c
}

// startHealthy is start, and waits until the engine calls the container healthy.
func startHealthy(t *testing.T, options ...string) container {
	t.Helper()
	c := start(t, options...)
	c.becomes("healthy", 10*time.Second)
	return c
}

func (c container) inspect(format string) string {
	c.t.Helper()
	return docker(c.t, "inspect", "--format", format, c.name)
}

func (c container) becomes(health string, within time.Duration) {
	c.t.Helper()
	defer func() {
		if c.t.Failed() {
			c.t.Logf("its state: %s\nits log: %s", c.inspect("{{json .State}}"), c.log())
		}
	}()
	eventually(c.t, within, health, func() bool { return c.inspect("{{.State.Health.Status}}") == health })
}

func (c container) log() string {
	c.t.Helper()
	return docker(c.t, "logs", c.name)
}

// api returns where the service is reached now: a restart changes the port.
func (c container) api() *program.Program {
	c.t.Helper()
	return program.At("http://" + docker(c.t, "port", c.name, c.port+"/tcp"))
}

// process returns a field of the serving process's status in /proc: "Uid" has the real, the effective, the saved and
// the file system's.
func (c container) process(field string) string {
	c.t.Helper()
	status := docker(c.t, "run", "--rm", "--pid", "container:"+c.name, golang, "cat", "/proc/1/status")
	return statusField(status, field)
}

func statusField(status, field string) string {
	for line := range strings.Lines(status) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return "no " + field
}
