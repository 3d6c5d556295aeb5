//go:build containers

package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A container's options, and who serves in it.
func TestTheServiceIsNeverRootWhileItServes(t *testing.T) {
	for _, c := range []struct{ name, owner, options, uid string }{
		{"on a fresh named volume", "volume", "", "65532"},
		{"on a bind-mounted directory that root owns", "0:0 755", "", "65532"},
		{"on a directory of another user", "5000:5000 755", "", "65532"},
		{"with --user 0, which is root", "volume", "--user 0:0", "65532"},
		{"without any capability, as the owner 1000", "1000:1000 755", "--cap-drop ALL --user 1000:1000", "1000"},
		{"with a read-only root, on one of root", "0:0 755", "--read-only --security-opt no-new-privileges", "65532"},
		{"without any capability, as the image's own user", "volume", "--cap-drop ALL --user 65532:65532", "65532"},
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

func TestOtherUsersOfTheHostCannotReadWhatIsMadeForTheService(t *testing.T) {
	for directory, options := range map[string][]string{
		"/app/data": nil, "/srv": {"--env", "DATA_DIR=/srv/people/data"}, // an empty volume is the image's, or root's
	} {
		volume := newVolume(t)
		startHealthy(t, append(options, "--volume", volume+":"+directory)...)
		got := asRoot(t, volume, "cd /mnt/people/data 2>/dev/null || cd /mnt; stat -c '%a %u' .")
		program.Expect(t, "the mode and owner of what is made in "+directory, got, "700 65532")
	}
}

func TestADirectoryThatCannotBeWrittenEndsTheStartWithOneLineThatHelps(t *testing.T) {
	for _, c := range []struct {
		name, owner, options string
		says                 []string
	}{
		{"a named volume, as a user that is not the image's", "volume", "--user 1000:1000",
			[]string{"/app/data", "uid 1000", "chown -R 1000 /app/data"}},
		{"a directory that may not even be given away", "5000:5000 755", "--cap-drop CHOWN",
			[]string{"/app/data", "uid 65532", "chown -R 65532 /app/data"}},
		{"root that may not become anybody", "volume", "--cap-drop ALL", []string{"65532", "--user 65532:65532"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := start(t, data(t, c.owner, c.options)...)
			program.Expect(t, "its exit code", docker(t, "wait", service.name), 1) // it ends by itself
			log := service.log()
			program.Forbid(t, log, "\n")
			for _, part := range c.says {
				program.Expect(t, "what it said", log, "…"+part+"…")
			}
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
