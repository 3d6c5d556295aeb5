//go:build containers

package containers

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
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
			first.api().Create(t, "Ada", "ada@example.com")
			docker(t, "stop", first.name)
			if code := first.inspect("{{.State.ExitCode}}"); code != "0" {
				t.Errorf("a stop ends with %s", code)
			}
			docker(t, "start", first.name)
			first.becomes("healthy", 10*time.Second)
			first.api().ExpectUsers(t, "Ada")

			docker(t, "stop", first.name)
			docker(t, "rm", first.name)
			startHealthy(t, options...).api().ExpectUsers(t, "Ada")
		})
	}
}

func TestUsersAreGoneWithTheContainerWhenNothingKeepsTheirDirectory(t *testing.T) {
	first := startHealthy(t)
	first.api().Create(t, "Ada", "ada@example.com")
	docker(t, "rm", "--force", "--volumes", first.name)
	startHealthy(t).api().ExpectUsers(t)
}

func TestTheContainerIsHealthyWithinThreeSecondsOnAnyPort(t *testing.T) {
	for _, port := range []string{"3000", "8080"} {
		t.Run("PORT="+port, func(t *testing.T) {
			service := startOn(t, port, "--env", "PORT="+port)
			service.becomes("healthy", 3*time.Second)
			service.api().Do(t, "GET", "/health", "").Expect(t, 200, `{"status":"ok"}`)
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

// Process managers, and air, send one signal to the process and another to its group.
func TestAStopThatArrivesAsTwoSignalsFinishesTheRequestUnderWay(t *testing.T) {
	service := startHealthy(t)
	body := program.Body("Ada", "ada@example.com")
	request := service.api().BeginRequest(t, "POST /api/users", body)
	docker(t, "kill", "--signal", "INT", service.name)
	docker(t, "kill", "--signal", "INT", service.name)
	request.Send("%s", body)
	request.Answer().Expect(t, 201, "…")
	if code := service.ended(); code != "0" {
		t.Errorf("the service ended with %s", code)
	}
}

func TestTheImageHoldsTheProgramAndAnEmptyDirectoryAndNothingElse(t *testing.T) {
	files := export(t)
	names := slices.Sorted(maps.Keys(files))
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
	program.Must(t, json.Unmarshal([]byte(docker(t, "image", "inspect", "--format", "{{json .Config}}", image)), &config))
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
			binary, err := elf.NewFile(bytes.NewReader(export(t, "--platform", platform)["app/users-api"]))
			program.Must(t, err)
			if binary.Machine != machine {
				t.Errorf("the program is for %s, and not for %s", binary.Machine, machine)
			}
			if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) != 0 {
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
	path := t.TempDir() + "/image.tar"
	docker(t, slices.Concat([]string{"build", "--output", "type=tar,dest=" + path}, options, []string{repository})...)
	file, err := os.Open(path)
	program.Must(t, err)
	defer file.Close() //nolint:errcheck // it was only read
	files := map[string][]byte{}
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		program.Must(t, err)
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
