package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A release is what all its files have in common.
type release struct {
	directory string
	version   string
	revision  string
	date      time.Time // of the commit: no file has a later one
	documents string    // the names of README.md and all that it leads to, one per line
	manual    []file
}

// A target is a system that the program is built for.
type target struct {
	system, processor, variant string
}

// targets are the systems of a release. The processors of Linux have packages too.
var targets = []target{
	{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"linux", "arm", "7"},
	{"darwin", "amd64", ""}, {"darwin", "arm64", ""},
	{"windows", "amd64", ""}, {"freebsd", "amd64", ""},
}

// makeRelease makes all files of a release for some systems in a new directory.
func makeRelease(directory string, systems []target) error {
	r, err := describe(directory)
	if err != nil {
		return err
	}
	if err := os.Mkdir(directory, 0o755); err != nil {
		return fmt.Errorf("the release needs a new directory: %w", err)
	}
	for _, t := range systems {
		fmt.Println("building for", t)
		program, err := r.build(t)
		if err != nil {
			return err
		}
		if err := r.archive(t, program); err != nil {
			return err
		}
		if t.system == "linux" {
			if err := r.packages(t, program); err != nil {
				return err
			}
		}
	}
	if err := r.writeBill(); err != nil {
		return err
	}
	return r.writeSums()
}

// describe asks git for what is being released.
func describe(directory string) (release, error) {
	version, err := output("../.ci/version")
	if err != nil {
		return release{}, err
	}
	commit, err := output("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return release{}, err
	}
	revision, seconds, _ := strings.Cut(commit, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return release{}, err
	}
	documents, err := output("git", "-C", "..", "ls-files", "*.md", "docs", ":!bench", ":!.github")
	if err != nil {
		return release{}, err
	}
	date := time.Unix(unix, 0).UTC()
	manual, err := makeManual(version, date)
	return release{directory, version, revision, date, documents, manual}, err
}

// save writes a file of the release, and says so: the whole takes minutes.
func (r release) save(name string, content []byte) error {
	fmt.Println(filepath.Join(r.directory, name))
	return os.WriteFile(filepath.Join(r.directory, name), content, 0o644)
}

// output runs a command and returns what it printed.
func output(name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Stderr = os.Stderr
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return strings.TrimSpace(string(printed)), nil
}

// build returns the program for a target.
func (r release) build(t target) ([]byte, error) {
	directory, err := os.MkdirTemp("", "users-api")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory) //nolint:errcheck // the system removes it later
	path := filepath.Join(directory, "users-api")
	command := exec.Command("go", "build", "-tags", "nomsgpack", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X users-api/commands.version="+r.version+" -X users-api/commands.revision="+r.revision, "-o", path, ".")
	command.Dir = ".."
	command.Env = append(os.Environ(), t.environment()...)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s for %s: %w", command, t, err)
	}
	return os.ReadFile(path)
}

// environment is what makes Go build for a target, whatever the machine prefers.
func (t target) environment() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS=" + t.system, "GOARCH=" + t.processor, "GOARM=" + t.variant}
}

// String returns the target as the names of files have it: linux_armv7.
func (t target) String() string {
	if t.variant != "" {
		return t.system + "_" + t.processor + "v" + t.variant
	}
	return t.system + "_" + t.processor
}

// writeSums writes SHA256SUMS, which "sha256sum --check" reads.
func (r release) writeSums() error {
	entries, err := os.ReadDir(r.directory) // sorted by name
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.directory, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	return r.save("SHA256SUMS", []byte(sums.String()))
}
