//go:build containers

package containers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// aRefusalFile holds the text that edits change: what the service answers to a deletion of no user.
const aRefusalFile = "models/errors.go"

// patience is for a busy machine.
const patience = 3 * time.Minute

// The tests of one development run follow each other in one test, because the first build in a new container
// compiles everything.
func TestTheDevelopmentRun(t *testing.T) {
	p := newProject(t)
	asRoot(t, p.directory, "chown -R 1000:1000 /mnt")
	dev := startDevelopment(p)
	for _, step := range []struct {
		name string
		test func(development)
	}{
		{"does not serve as root, nor write into the source tree", development.servesUnprivileged},
		{"serves an edit", func(d development) { d.edit("No such user") }},
		{"keeps the old program running through a compile error", development.outlivesACompileError},
		{"keeps its users when it is recreated, and polls where it is told to", development.polls},
		{"stops before it is killed, and goes with its volumes when everything is removed", development.stops},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(dev.in(t)) })
	}
}

type development struct {
	container
	project project
}

// in returns the same development run, for a test within the test.
func (d development) in(t *testing.T) development {
	d.t, d.project.t = t, t
	return d
}

// startDevelopment runs `docker compose up -d dev` and waits until the program answers.
func startDevelopment(p project) development {
	p.t.Helper()
	p.compose("up", "--detach", "dev")
	dev := development{p.service("dev"), p}
	eventually(p.t, 15*time.Minute, "built and answering", func() bool {
		answer, _ := dev.api().Send("GET", "/health", "")
		return answer.Status == 200
	})
	return dev
}

func (d development) servesUnprivileged() {
	const sources = `{{range .Mounts}}{{if eq .Destination "/src"}}{{.RW}}{{end}}{{end}}`
	program.Expect(d.t, "that it may write into the source tree", d.inspect(sources), false)
	status := docker(d.t, "exec", d.name, "cat", "/proc/"+d.program()+"/status")
	program.Expect(d.t, "the uids of the program", statusField(status, "Uid"), "65532 65532 65532 65532")
}

func (d development) outlivesACompileError() {
	before := d.program()
	d.replace("package models", "package models\n\nbroken")
	eventually(d.t, patience, "the compile error in the log", func() bool {
		return strings.Contains(d.log(), aRefusalFile+":3:1: syntax error") && strings.Contains(d.log(), "The build failed")
	})
	d.api().Create(d.t, "During the error", "error@example.com")
	program.Expect(d.t, "the process of the program", d.program(), before)
	d.replace("package models\n\nbroken", "package models")
	d.edit("No user there")
}

func (d development) polls() {
	d.api().Create(d.t, "Before", "before@example.com")
	d.t.Setenv("AIR_POLL", "true")
	polling := startDevelopment(d.project)
	polling.api().Do(d.t, "GET", "/api/users?email=before@example.com", "").Expect(d.t, 200, "[{…}]")
	program.Forbid(d.t, docker(d.t, "exec", polling.name, "ls", "-l", "/proc/1/fd"), "inotify") // it polls
	polling.edit("No user")
}

// An engine kills after 10 s.
func (d development) stops() {
	begin := time.Now()
	d.project.compose("stop", "dev")
	if took := time.Since(begin); took > 8*time.Second {
		d.t.Errorf("it took %s", took)
	}
	// `docker compose down -v` alone leaves what the profile dev has made.
	d.project.compose("--profile", "dev", "down", "--volumes")
	d.project.expectNothing()
}

// edit changes a text of the program and waits for the service to answer with it.
func (d development) edit(refusal string) {
	d.t.Helper()
	d.replace(d.refusal(), refusal)
	d.serves(refusal)
}

func (d development) serves(refusal string) {
	d.t.Helper()
	eventually(d.t, patience, "served: "+refusal, func() bool { return d.refusal() == refusal })
}

// refusal returns the text that edit changes, as the service says it now; "" while it does not answer.
func (d development) refusal() string {
	d.t.Helper()
	answer, _ := d.api().Send("DELETE", "/api/users/0", "")
	var said struct{ Error string }
	_ = json.Unmarshal([]byte(answer.Body), &said)
	return said.Error
}

// replace changes the source as an editor would.
func (d development) replace(from, to string) {
	d.t.Helper()
	path := filepath.Join(d.project.directory, aRefusalFile)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		d.t.Fatalf("%s holds no %q (%v)", path, from, err)
	}
	program.Must(d.t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644))
}

// program returns the process id of the program, in its container.
func (d development) program() string {
	d.t.Helper()
	return docker(d.t, "exec", d.name, "pidof", "users-api")
}
