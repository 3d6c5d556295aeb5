//go:build containers

// Package containers tests the image, the deployment and the development run on a real engine:
//
//	go test -tags containers -timeout 20m ./tests/containers
//
// Without an engine the tests are skipped. They talk to 127.0.0.1 only and remove what they made.
package containers

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
	commands sync.RWMutex                   // locked for reading while a test runs a command
)

func TestMain(m *testing.M) {
	noEngine = lookForEngine()
	if noEngine == "" {
		removeWhenInterrupted()
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

// removeWhenInterrupted removes what the tests have made if they are interrupted, because no cleanup runs then.
func removeWhenInterrupted() {
	const remove = `
		docker ps --all --quiet --filter "name=$0" | xargs --no-run-if-empty docker rm --force --volumes
		docker network ls --quiet --filter "name=$0" | xargs --no-run-if-empty docker network rm
		docker volume ls --quiet --filter "name=$0" | xargs --no-run-if-empty docker volume rm
		docker images --quiet --filter "reference=$0*" | xargs --no-run-if-empty docker rmi --force`
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts
		commands.Lock() // so that no test makes anything more
		output, err := exec.Command("sh", "-c", remove, run).CombinedOutput()
		fmt.Fprintf(os.Stderr, "interrupted; removing what the tests made (%v):\n%s", err, output)
		os.Exit(1)
	}()
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
	commands.RLock()
	defer commands.RUnlock()
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
