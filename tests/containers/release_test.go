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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestTheContainerIsHealthyWithinThreeSecondsOnAnyPort(t *testing.T) {
	for _, port := range []string{"3000", "8080"} {
		t.Run("PORT="+port, func(t *testing.T) {
			service := startOn(t, port, "--env", "PORT="+port)
			service.becomes("healthy", 3*time.Second)
			service.api().Do(t, "GET", "/health", "").Expect(t, 200, `{"status":"ok"}`)
		})
	}
}

// `docker compose up --wait` gives up at "unhealthy".
func TestAServiceThatWaitsForItsServerIsStarting(t *testing.T) {
	service := start(t, "--env", "DATABASE_URL=postgres://users:password@127.0.0.1:1/users")
	eventually(t, 30*time.Second, "the fourth check", func() bool { return service.inspect("{{len .State.Health.Log}}") >= "4" })
	program.Expect(t, "its health", service.inspect("{{.State.Health.Status}}"), "starting")
}

func TestTheImageHoldsTheProgramAndAnEmptyDirectoryAndNothingElse(t *testing.T) {
	files := export(t)
	names := slices.Sorted(maps.Keys(files))
	program.Expect(t, "the files in it", strings.Join(names, " "), "app/ app/data/ app/users-api")
	size, err := strconv.Atoi(docker(t, "image", "inspect", "--format", "{{.Size}}", image))
	if err != nil || size > 33_000_000 {
		t.Errorf("it has %d bytes, more than 33 MB (%v)", size, err)
	}
}

func TestTheImageSaysHowItIsRunAndWhichVersionItIs(t *testing.T) {
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
	program.Expect(t, "its health check", strings.Join(config.Healthcheck.Test, " "), "CMD /app/users-api healthcheck")
	if config.Volumes["/app/data"] == nil || config.ExposedPorts["3000/tcp"] == nil {
		t.Errorf("its volumes are %v and its ports %v", config.Volumes, config.ExposedPorts)
	}
	for label, want := range map[string]string{
		"title": "users-api", "description": "…", "version": "1.2.3", "revision": "abcdef0",
	} {
		if got := config.Labels["org.opencontainers.image."+label]; got == "" || !program.Matches(got, want) {
			t.Errorf("its OCI label %s is %q", label, got)
		}
	}
	program.Expect(t, "the version", docker(t, "run", "--rm", image, "--version"), "users-api 1.2.3 (abcdef0)")
}

func TestTheImageIsBuiltForEachPlatformWithoutEmulation(t *testing.T) {
	for platform, machine := range map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64} {
		t.Run(platform, func(t *testing.T) {
			binary, err := elf.NewFile(bytes.NewReader(export(t, "--platform", platform)["app/users-api"]))
			program.Must(t, err)
			program.Expect(t, "what the program is for", binary.Machine, machine)
			if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) != 0 {
				t.Errorf("the program is not static: it needs %v (%v)", libraries, err)
			}
		})
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
		files[header.Name], err = io.ReadAll(archive)
		program.Must(t, err)
	}
}

// A container's options, and who serves in it.
func TestTheServiceIsNeverRootWhileItServes(t *testing.T) {
	for _, c := range []struct{ name, owner, options, uid string }{
		{"on a fresh named volume", "volume", "", "65532"},
		{"on a bind-mounted directory that root owns", "0:0 755", "", "65532"},
		{"with --user 0, which is root", "volume", "--user 0:0", "65532"},
		{"without any capability, as the owner 1000", "1000:1000 755", "--cap-drop ALL --user 1000:1000", "1000"},
		{"without any capability, on a volume that Kubernetes gives to the user's group", "0:65532 2775",
			"--cap-drop ALL --user 65532:65532 --read-only --security-opt no-new-privileges", "65532"},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := startHealthy(t, data(t, c.owner, c.options)...)
			service.api().Create(t, "Ada", "ada@example.com")
			for _, field := range []string{"Uid", "Gid"} {
				want := strings.Join([]string{c.uid, c.uid, c.uid, c.uid}, " ")
				program.Expect(t, field, service.process(field), want)
			}
			program.Expect(t, "its capabilities", strings.Trim(service.process("CapEff"), "0"), "")
		})
	}
}

// data returns the options that mount as the data directory a volume, or a directory of this machine, as its owner and
// mode say, and more options.
func data(t *testing.T, owner, more string) []string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "data")
	if uid, mode, _ := strings.Cut(owner, " "); owner != "volume" {
		program.Must(t, os.Mkdir(source, 0o755))
		asRoot(t, source, "chown "+uid+" /mnt && chmod "+mode+" /mnt")
		t.Cleanup(func() { asRoot(t, source, fmt.Sprintf("rm -rf /mnt/* && chown %d /mnt", os.Getuid())) })
	} else {
		source = newVolume(t)
	}
	return append([]string{"--volume", source + ":/app/data"}, strings.Fields(more)...)
}
