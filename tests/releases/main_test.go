//go:build release

// Package releases makes a release and installs and runs what is in it:
//
//	go test -tags release -timeout 40m ./tests/releases [-system linux_amd64]
package releases

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// version is what git has for the commit that is released.
const version = "9.8.7"

var (
	keep    = flag.String("release", "", "make the release in this directory, or test the one that is there")
	system  = flag.String("system", "", "make it for this system alone, of which the packages for amd64 are tested")
	release string // a directory with the files of a release
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *system != "" {
		systems = []string{*system}
	}
	directory, err := os.MkdirTemp("", "releases")
	if err == nil {
		err = os.Chmod(directory, 0o755) // packages are installed by another root
	}
	release = filepath.Join(directory, "release")
	if *keep != "" {
		release = *keep
	}
	if _, failure := os.Stat(release); err == nil && failure != nil {
		err = makeRelease(filepath.Join(directory, "a"), release)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

// makeRelease makes a release of the last commit in a clone, where it is tagged.
func makeRelease(clone, release string, settings ...string) error {
	for _, command := range []string{
		"git clone --quiet ../.. " + clone,
		"git -C " + clone + " tag --force v" + version,
		"go run -C " + clone + "/packaging . " + release + " " + *system,
	} {
		words := strings.Fields(command)
		run := exec.Command(words[0], words[1:]...)
		run.Env = append(os.Environ(), settings...)
		if output, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, output)
		}
	}
	return nil
}

// file returns the path of a file of the release, of which a part of the name is given.
func file(t *testing.T, part string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(release, "*"+part))
	if err != nil || len(found) != 1 {
		t.Fatalf("there is no file *%s, but %v (%v)", part, found, err)
	}
	return found[0]
}

// unpack unpacks the archive for a system, and returns the path of the program in it.
func unpack(t *testing.T, system string) string {
	t.Helper()
	directory := t.TempDir()
	if system == "windows_amd64" {
		run(t, "unzip", "-q", file(t, system+".zip"), "-d", directory)
	} else {
		run(t, "tar", "-xzf", file(t, system+".tar.gz"), "-C", directory)
	}
	found, err := filepath.Glob(filepath.Join(directory, "*", "users-api*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the archive has %v (%v)", found, err)
	}
	return found[0]
}

// run runs a command and returns what it printed.
func run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	output, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, output)
	}
	return string(output)
}

// needs fails a test without a command, and says which package of Debian has it.
func needs(t *testing.T, command, of string) {
	t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		t.Fatalf("%s is missing: apt-get install %s", command, of)
	}
}
