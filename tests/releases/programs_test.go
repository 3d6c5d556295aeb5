//go:build release

package releases

import (
	"debug/buildinfo"
	"encoding/json"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

// The systems that the program is released for, or the one of the flag.
var systems = []string{"linux_amd64", "linux_arm64", "linux_armv7", "darwin_amd64", "darwin_arm64", "windows_amd64",
	"freebsd_amd64"}

func TestAReleaseHasAFileForEachSystem(t *testing.T) {
	want := []string{"SHA256SUMS", "users-api_9.8.7_sbom.cdx.json"}
	processors := map[string][2]string{"linux_amd64": {"amd64", "x86_64"}, "linux_arm64": {"arm64", "aarch64"}, "linux_armv7": {"armhf", "armv7hl"}}
	for _, system := range systems {
		if archive := "users-api_9.8.7_" + system; system == "windows_amd64" {
			want = append(want, archive+".zip")
		} else {
			want = append(want, archive+".tar.gz")
		}
		if names, packed := processors[system]; packed {
			want = append(want, "users-api_9.8.7_"+names[0]+".deb", "users-api-9.8.7-1."+names[1]+".rpm")
		}
	}
	slices.Sort(want)
	program.ExpectNames(t, release, want...)
	check := run(t, "sh", "-c", `cd "$0" && sha256sum --check SHA256SUMS`, release)
	program.Expect(t, "how many files SHA256SUMS is of", strings.Count(check, ": OK\n"), len(want)-1)
}

// The second folder has a longer name and other modes, and the machine another time zone.
func TestTwoReleasesInTwoFoldersAreIdentical(t *testing.T) {
	before := syscall.Umask(0o077)
	defer syscall.Umask(before)
	clone := filepath.Join(t.TempDir(), "a", "folder", "with", "a", "long", "name")
	second := filepath.Join(t.TempDir(), "release")
	program.Must(t, makeRelease(clone, second, "TZ=Asia/Kolkata", "GOFLAGS=-p=1", "GOAMD64=v3"))
	program.ExpectNames(t, second, program.NamesIn(t, release)...)
	for _, name := range program.NamesIn(t, release) {
		if program.ReadFile(t, filepath.Join(release, name)) != program.ReadFile(t, filepath.Join(second, name)) {
			t.Errorf("%s differs", name)
		}
	}
	// The program in the archive for this system is what Go makes of a clone without its cache.
	directory := t.TempDir()
	const build = `cd "$0"; CGO_ENABLED=0 GOAMD64=v1 GOCACHE="$1/cache" \
		go build -tags nomsgpack -trimpath -buildvcs=false -o "$1" -ldflags \
		"-s -w -X users-api/commands.version=$2 -X users-api/commands.revision=$(git rev-parse HEAD)" .`
	run(t, "sh", "-c", build, clone, directory, version)
	run(t, "cmp", filepath.Join(directory, "users-api"), unpack(t, "linux_amd64"))
}

// A part of a bill of materials.
type part struct {
	Version, PURL string
	Licenses      []struct{ License struct{ ID string } }
}

func TestTheBillOfMaterialsHasEverythingThatIsLinkedIn(t *testing.T) {
	written := program.ReadFile(t, file(t, "_sbom.cdx.json"))
	var bill struct {
		BOMFormat, SpecVersion string
		Components             []struct {
			Name string
			part
		}
	}
	if err := json.Unmarshal([]byte(written), &bill); err != nil || bill.BOMFormat != "CycloneDX" {
		t.Fatalf("it is not CycloneDX: %v, %.100s", err, written)
	}
	parts := map[string]part{}
	for _, one := range bill.Components {
		parts[one.Name] = one.part
		if len(one.Licenses) == 0 || one.PURL == "" {
			t.Errorf("%s has the licences %v and the URL %q", one.Name, one.Licenses, one.PURL)
		}
	}
	for _, system := range systems {
		info, err := buildinfo.ReadFile(unpack(t, system))
		program.Must(t, err)
		for _, module := range info.Deps {
			if parts[module.Path].Version != module.Version {
				t.Errorf("for %s, %s %s is linked in, and the bill has %v", system, module.Path, module.Version, parts[module.Path])
			}
		}
		if want := "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"); parts["Go"].PURL != want {
			t.Errorf("Go is %v, and not %s", parts["Go"], want)
		}
	}
}

func TestAnArchiveHasTheProgramItsManualAndNoPathOfThisMachine(t *testing.T) {
	root := strings.TrimSpace(run(t, "go", "env", "GOROOT"))
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			binary := unpack(t, system)
			content := program.ReadFile(t, binary)
			// The formats of Apple and Windows take 2 % more for the same.
			if limit := map[bool]int{true: 32_000_000, false: 33_000_000}[strings.HasPrefix(system, "linux")]; len(content) > limit {
				t.Errorf("the program has %d bytes, more than %d", len(content), limit)
			}
			for _, path := range []string{os.TempDir() + "/", build.Default.GOPATH, root} {
				if strings.Contains(content, path) {
					t.Errorf("it contains %s", path)
				}
			}
			for _, name := range []string{"README.md", "docs/api.md", "docs/decisions/1-gorm.md", "man/users-api.1", "completions/users-api.bash"} {
				if _, err := os.Stat(filepath.Join(filepath.Dir(binary), name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
