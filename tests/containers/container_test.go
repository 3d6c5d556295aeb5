//go:build containers

package containers

import (
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

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
