//go:build containers

package containers

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// A container's options, and who serves in it.
func TestTheServiceIsNeverRootWhileItServes(t *testing.T) {
	for _, c := range []struct {
		name         string
		owner        int
		options, uid string
	}{
		{"on a fresh named volume", volume, "", "65532"},
		{"on a bind-mounted directory that root owns", 0, "", "65532"},
		{"on a directory of another user", 5000, "", "65532"},
		{"with --user 0, which is root", volume, "--user 0:0", "65532"},
		{"without any capability, on a directory of --user 1000", 1000, "--cap-drop ALL --user 1000:1000", "1000"},
		{"with a read-only root on a directory of root", 0, "--read-only --security-opt no-new-privileges", "65532"},
		{"without any capability, as the image's own user", volume, "--cap-drop ALL --user 65532:65532", "65532"},
		{"without any capability, on a volume that Kubernetes gives to the user's group", ofGroup,
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
		name    string
		owner   int
		options string
		says    []string
	}{
		{"a named volume, as a user that is not the image's", volume, "--user 1000:1000",
			[]string{"/app/data", "uid 1000", "chown -R 1000 /app/data"}},
		{"a directory that may not even be given away", 5000, "--cap-drop CHOWN",
			[]string{"/app/data", "uid 65532", "chown -R 65532 /app/data"}},
		{"root that may not become anybody", volume, "--cap-drop ALL", []string{"65532", "--user 65532:65532"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := start(t, data(t, c.owner, c.options)...)
			program.Expect(t, "its exit code", service.ended(), 1)
			log := service.log()
			program.Forbid(t, log, "\n")
			for _, part := range c.says {
				program.Expect(t, "what it said", log, "…"+part+"…")
			}
		})
	}
}

// Owners of a data directory that are no uid.
const (
	volume  = -1 // the engine, which makes it
	ofGroup = -2 // root, with the group of the image's user, as on Kubernetes
)

// data returns the options that mount a volume or a directory of an owner as the data directory, and more options.
func data(t *testing.T, owner int, more string) []string {
	t.Helper()
	source := ""
	if owner == volume {
		source = newVolume(t)
	} else {
		source = ownedBy(t, max(owner, 0))
	}
	if owner == ofGroup {
		asRoot(t, source, "chgrp 65532 /mnt && chmod 2775 /mnt")
	}
	return append([]string{"--volume", source + ":/app/data"}, strings.Fields(more)...)
}
