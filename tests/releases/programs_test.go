//go:build release

package releases

import (
	"net/http"
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
			if list := p.Do(t, http.MethodGet, "/api/users", ""); !strings.Contains(list.Body, `"ada@example.org"`) {
				t.Errorf("the list is answered %d %s", list.Status, list.Body)
			}
			p.Signal(syscall.SIGTERM)
			if code := p.Wait(t); code != 0 {
				t.Errorf("it stopped with exit code %d:\n%s", code, p.Log())
			}
			if !strings.Contains(p.Log(), "version="+version+" ") {
				t.Errorf("the log has another version: %s", p.Log())
			}
		})
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users-api")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
