//go:build systemd

// Package systemd proves that the unit in packaging/ is valid and hardens the service. That it forbids nothing which the
// service does is proven where it runs: tests/releases/testdata/deb.sh.
package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

const packaging = "../../packaging/"

func analyze(t *testing.T, arguments ...string) (output string, err error) {
	t.Helper()
	command := exec.Command("systemd-analyze", arguments...)
	command.Env = append(os.Environ(), "SYSTEMD_COLORS=0")
	printed, err := command.CombinedOutput()
	return string(printed), err
}

func TestTheUnitIsValid(t *testing.T) {
	unit := program.ReadFile(t, packaging+"users-api.service")
	path := filepath.Join(t.TempDir(), "users-api.service")
	text := strings.Replace(unit, "=/usr/bin/users-api\n", "="+program.Path()+"\n", 1) // it must exist
	program.WriteFile(t, path, text)
	// Mistakes that systemd ignores are printed with exit code 0.
	if output, err := analyze(t, "verify", path); err != nil || output != "" {
		t.Errorf("%v\n%s", err, output)
	}
}

// The scale ends at 100. A service without any hardening has 96.
func TestTheServiceIsExposedToLittle(t *testing.T) {
	output, err := analyze(t, "security", "--offline=true", "--threshold=14", packaging+"users-api.service")
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
