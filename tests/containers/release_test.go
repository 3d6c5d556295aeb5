//go:build containers

package containers

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestUsersSurviveTheContainerThatStoredThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		source func(*testing.T) string
	}{
		{"on a named volume", newVolume},
		{"on a directory that root owns", func(t *testing.T) string { return ownedBy(t, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := data(c.source(t))
			first := startHealthy(t, options...)
			first.api().mustCreate("ada@example.com")
			docker(t, "stop", first.name)
			docker(t, "start", first.name)
			first.becomes("healthy", 10*time.Second)
			first.api().mustHave([]string{"ada@example.com"})

			docker(t, "stop", first.name)
			docker(t, "rm", first.name)
			startHealthy(t, options...).api().mustHave([]string{"ada@example.com"})
		})
	}
}

func TestUsersAreGoneWithTheContainerWhenNothingKeepsTheirDirectory(t *testing.T) {
	first := startHealthy(t)
	first.api().mustCreate("ada@example.com")
	docker(t, "rm", "--force", "--volumes", first.name)
	if emails := startHealthy(t).api().emails(); len(emails) != 0 {
		t.Errorf("a new container lists %v", emails)
	}
}

func TestTheContainerIsHealthyWithinThreeSecondsOnAnyPort(t *testing.T) {
	for _, port := range []string{"3000", "8080"} {
		t.Run("PORT="+port, func(t *testing.T) {
			service := startOn(t, port, "--env", "PORT="+port)
			service.becomes("healthy", 3*time.Second)
			if status, body := service.api().ask("GET", "/health", ""); body != `{"status":"ok"}` {
				t.Errorf("/health answered %d and %q", status, body)
			}
			lines := strings.Split(service.log(), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], "listening") || !strings.Contains(lines[1], "API_KEY") {
				t.Errorf("the log has more than the start, and that no key is asked for: %q", lines)
			}
		})
	}
}

func TestAServiceThatHangsIsUnhealthyUntilItGoesOn(t *testing.T) {
	service := startHealthy(t)
	docker(t, "kill", "--signal", "STOP", service.name)
	service.becomes("unhealthy", 30*time.Second)
	docker(t, "kill", "--signal", "CONT", service.name)
	service.becomes("healthy", 10*time.Second)
}

func TestTheHealthCheckSaysWhyItFails(t *testing.T) {
	if noEngine != "" {
		t.Skip(noEngine)
	}
	output, err := exec.Command("docker", "run", "--rm", "--env", "PORT=8080", image, "healthcheck").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, and not with 1", err)
	}
	if text := strings.TrimSpace(string(output)); strings.Contains(text, "\n") || !strings.Contains(text, "127.0.0.1:8080") {
		t.Errorf("it did not say in one line what it asked: %s", text)
	}
}

func TestAStopKeepsEveryUserThatWasAnswered201(t *testing.T) {
	service := startHealthy(t, data(newVolume(t))...)
	var count atomic.Int64
	var stopped atomic.Bool
	created := service.api().createWith(20, func() (string, bool) {
		return fmt.Sprintf("%d@example.com", count.Add(1)), !stopped.Load()
	})
	eventually(t, 10*time.Second, "2000 users asked for", func() bool { return count.Load() > 2000 })

	begin := time.Now()
	docker(t, "stop", service.name)
	took := time.Since(begin)
	stopped.Store(true)
	emails := created()
	if code := service.inspect("{{.State.ExitCode}}"); took > 2*time.Second || code != "0" {
		t.Errorf("the stop took %s and ended with %s", took, code)
	}
	docker(t, "start", service.name)
	service.becomes("healthy", 10*time.Second)
	service.api().mustHave(emails)
	t.Logf("stopped in %s; %d users were answered 201", took.Round(time.Millisecond), len(emails))
}

// Process managers, and air, send one signal to the process and another to its group.
func TestAStopThatArrivesAsTwoSignalsFinishesTheRequestUnderWay(t *testing.T) {
	service := startHealthy(t)
	finish, status := service.api().createSlowly("ada@example.com")
	docker(t, "kill", "--signal", "INT", service.name)
	docker(t, "kill", "--signal", "INT", service.name)
	finish()
	if got := <-status; got != http.StatusCreated {
		t.Errorf("the request under way was answered %d", got)
	}
	if code := service.ended(); code != "0" {
		t.Errorf("the service ended with %s", code)
	}
}

func TestTheImageHoldsTheProgramAndAnEmptyDirectoryAndNothingElse(t *testing.T) {
	files := export(t)
	names := []string{}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"app/", "app/data/", "app/users-api"}; !slices.Equal(names, want) {
		t.Errorf("it holds %v, and not %v", names, want)
	}
	size, err := strconv.Atoi(docker(t, "image", "inspect", "--format", "{{.Size}}", image))
	if err != nil || size > 33_000_000 {
		t.Errorf("it has %d bytes, more than 33 MB (%v)", size, err)
	}
}

func TestTheImageSaysHowItIsRun(t *testing.T) {
	var config struct {
		Entrypoint   []string
		Cmd          []string
		WorkingDir   string
		Volumes      map[string]any
		ExposedPorts map[string]any
		Labels       map[string]string
		Healthcheck  struct{ Test []string }
	}
	if err := json.Unmarshal([]byte(docker(t, "image", "inspect", "--format", "{{json .Config}}", image)), &config); err != nil {
		t.Fatal(err)
	}
	// The exec forms: a shell would be PID 1 and pass no signal on, and there is none in the image.
	if !slices.Equal(config.Entrypoint, []string{"/app/users-api"}) || config.Cmd != nil || config.WorkingDir != "/app" {
		t.Errorf("it starts %v %v in %s", config.Entrypoint, config.Cmd, config.WorkingDir)
	}
	if want := []string{"CMD", "/app/users-api", "healthcheck"}; !slices.Equal(config.Healthcheck.Test, want) {
		t.Errorf("its health check is %v, and not %v", config.Healthcheck.Test, want)
	}
	if config.Volumes["/app/data"] == nil || config.ExposedPorts["3000/tcp"] == nil {
		t.Errorf("its volumes are %v and its ports %v", config.Volumes, config.ExposedPorts)
	}
	for _, label := range []string{"title", "description", "version", "revision"} {
		if config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("it has no OCI label %s", label)
		}
	}
}

func TestTheImageIsBuiltForEachPlatformWithoutEmulation(t *testing.T) {
	for platform, machine := range map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64} {
		t.Run(platform, func(t *testing.T) {
			program, err := elf.NewFile(bytes.NewReader(export(t, "--platform", platform)["app/users-api"]))
			if err != nil {
				t.Fatal(err)
			}
			if program.Machine != machine {
				t.Errorf("the program is for %s, and not for %s", program.Machine, machine)
			}
			if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) != 0 {
				t.Errorf("the program is not static: it needs %v (%v)", libraries, err)
			}
		})
	}
}

func TestTheImageForArm64RunsInQEMU(t *testing.T) {
	const emulator = "/usr/bin/qemu-aarch64-static"
	if _, err := os.Stat(emulator); err != nil {
		t.Skip(emulator + " is missing: apt-get install qemu-user-static")
	}
	name := unique()
	docker(t, "build", "--platform", "linux/arm64", "--tag", name, repository)
	t.Cleanup(func() { docker(t, "image", "rm", "--force", name) })
	said := docker(t, "run", "--rm", "--platform", "linux/arm64", "--volume", emulator+":/qemu:ro", "--entrypoint", "/qemu", name,
		"/app/users-api", "licenses")
	if !strings.Contains(said, "Copyright 2009 The Go Authors") {
		t.Errorf("it prints other licences: %.200s", said)
	}
}

// export builds the release image and returns the files in it; the name of a directory ends with a slash.
func export(t *testing.T, options ...string) map[string][]byte {
	t.Helper()
	archive := t.TempDir() + "/image.tar"
	options = append([]string{"build", "--output", "type=tar,dest=" + archive}, options...)
	docker(t, append(options, repository)...)
	return readArchive(t, archive)
}

func readArchive(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	files := map[string][]byte{}
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
