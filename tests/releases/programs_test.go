//go:build release

package releases

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// The programs for other processors run in QEMU. tests/windows has the program for Windows, in wine.
func TestTheProgramsForLinuxRun(t *testing.T) {
	for system, emulator := range map[string]string{
		"linux_amd64": "", "linux_arm64": "qemu-aarch64-static", "linux_armv7": "qemu-arm-static",
	} {
		t.Run(system, func(t *testing.T) {
			path := unpack(t, system)
			if emulator != "" {
				needs(t, emulator, "qemu-user-static")
				path = script(t, "exec "+emulator+" "+path+` "$@"`)
			}
			if says := run(t, path, "--version"); !strings.HasPrefix(says, "users-api "+version+" (") {
				t.Errorf("--version prints %s", says)
			}
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
