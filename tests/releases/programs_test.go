//go:build release

package releases

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// The programs for other processors run in QEMU. tests/windows has the program for Windows, in wine.
func TestTheProgramsForLinuxRun(t *testing.T) {
	emulators := map[string]string{"linux_amd64": "", "linux_arm64": "qemu-aarch64-static", "linux_armv7": "qemu-arm-static"}
	for _, system := range systems {
		emulator, known := emulators[system]
		if !known {
			continue
		}
		t.Run(system, func(t *testing.T) {
			path := unpack(t, system)
			if emulator != "" {
				needs(t, emulator, "qemu-user-static")
				path = script(t, "exec "+emulator+" "+path+` "$@"`)
			}
			program.Expect(t, "what --version prints", run(t, path, "--version"), "users-api "+version+" (…")
			p := program.Start(t, path)
			p.Create(t, "Ada", "ada@example.org")
			p.ExpectUsers(t, "Ada")
			p.Signal(syscall.SIGTERM)
			p.ExpectEnd(t, 0, "version="+version+" ")
		})
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users-api")
	program.Must(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

// What the tests of packages run lies in testdata: they are scripts, because packages are.
func TestThePackageForDebianIsInstalledUpgradedAndPurged(t *testing.T) {
	needs(t, "dpkg-deb", "dpkg")
	directory := t.TempDir()
	first := filepath.Join(directory, "first.deb")
	run(t, "cp", file(t, "_amd64.deb"), first)
	run(t, "sh", "-c", `cd "$0" && dpkg-deb --raw-extract first.deb next &&
		sed -i 's/^Version: .*/Version: 9.9.0/' next/DEBIAN/control && dpkg-deb -Znone --build next second.deb && rm -r next`, directory)
	inACopyOfThisMachine(t, directory, "deb.sh")
}

func TestThePackageForFedoraIsInstalledUpgradedAndErased(t *testing.T) {
	needs(t, "rpm", "rpm")
	directory := t.TempDir()
	run(t, "cp", file(t, ".x86_64.rpm"), filepath.Join(directory, "first.rpm"))
	inACopyOfThisMachine(t, directory, "rpm.sh")
}

// inACopyOfThisMachine runs a script of testdata where systemd runs, and fails the test if the script fails. It skips the
// test where systemd cannot be made to run, for example in a container without rights.
func inACopyOfThisMachine(t *testing.T, directory, name string) {
	t.Helper()
	program.NeedsRoot(t)
	needs(t, "/lib/systemd/systemd", "systemd")
	run(t, "cp", "testdata/"+name, directory)
	boot := exec.CommandContext(t.Context(), "timeout", "--kill-after=10", "600", "sh", "testdata/boot.sh", directory, name)
	said, failed := boot.CombinedOutput()
	output, err := os.ReadFile(filepath.Join(directory, "output"))
	if err != nil { // systemd has not come to the script
		started, _ := os.ReadFile(filepath.Join(directory, "boot"))
		t.Skipf("systemd does not run in a copy of this machine: %v: %s%s", failed, said, started)
	}
	if _, err := os.Stat(filepath.Join(directory, "passed")); err != nil {
		t.Errorf("%s failed: %v\n%s%s", name, failed, said, output)
	}
}
