//go:build containers

package containers

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// aRefusalFile holds the text that edits change: what the service answers to a deletion of no user.
const aRefusalFile = "controllers/errors.go"

// patience is for a busy machine.
const patience = 3 * time.Minute

// The tests of one development run follow each other in one test, because the first build in a new container
// compiles everything.
func TestTheDevelopmentRun(t *testing.T) {
	p := newProject(t)
	asRoot(t, p.directory, "chown -R 1000:1000 /mnt")
	before := owners(t, p.directory)
	dev := startDevelopment(p)
	for _, step := range []struct {
		name string
		test func(development)
	}{
		{"does not serve as root", development.servesUnprivileged},
		{"serves an edit", development.servesAnEdit},
		{"keeps the old program running through a compile error", development.outlivesACompileError},
		{"does not rebuild when users are written or a test is edited", development.ignoresWhatIsNotTheProgram},
		{"finishes the request under way before the next program starts", development.finishesRequests},
		{"loses no user that was answered 201 when an edit comes between", development.losesNoUser},
		{"keeps its users when it is recreated, and polls where it is told to", development.polls},
		{"stops before it is killed", development.stops},
		{"goes with its volumes when everything is removed", development.isRemoved},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(dev.in(t)) })
	}
	if after := owners(t, p.directory); !maps.Equal(before, after) {
		t.Errorf("it left something in the source tree: the files and their owners were %v and are %v", before, after)
	}
}

type development struct {
	container
	project project
}

// in returns the same development run, for a test within the test.
func (d development) in(t *testing.T) development {
	d.t, d.project.t = t, t
	return d
}

// startDevelopment runs `docker compose up -d dev` and waits until the program answers.
func startDevelopment(p project) development {
	p.t.Helper()
	p.compose("up", "--detach", "dev")
	dev := development{p.service("dev"), p}
	eventually(p.t, 15*time.Minute, "built and answering", func() bool {
		status, _ := dev.api().ask(http.MethodGet, "/health", "")
		return status == http.StatusOK
	})
	return dev
}

func (d development) servesUnprivileged() {
	status := docker(d.t, "exec", d.name, "cat", "/proc/"+d.program()+"/status")
	if uid := statusField(status, "Uid"); uid != "65532 65532 65532 65532" {
		d.t.Errorf("the program's uids are %s", uid)
	}
}

func (d development) servesAnEdit() {
	begin := time.Now()
	d.edit("No such user")
	d.t.Logf("%s from the edit to its answer", time.Since(begin).Round(10*time.Millisecond))
}

func (d development) outlivesACompileError() {
	program := d.program()
	d.replace("package controllers", "package controllers\n\nbroken")
	eventually(d.t, patience, "the compile error in the log", func() bool {
		return strings.Contains(d.log(), aRefusalFile+":3:1: syntax error") && strings.Contains(d.log(), "The build failed")
	})
	d.api().mustCreate("during-the-error@example.com")
	if now := d.program(); now != program {
		d.t.Errorf("the program was process %s and is %s", program, now)
	}
	d.replace("package controllers\n\nbroken", "package controllers")
	d.edit("No user there")
}

func (d development) ignoresWhatIsNotTheProgram() {
	for i := range 20 {
		d.api().mustCreate(fmt.Sprintf("quiet%d@example.com", i))
	}
	for _, name := range []string{"config/config_test.go", "tests/containers/engine_test.go", "data/more.go", "README.md"} {
		touch(d.t, filepath.Join(d.project.directory, name))
	}
	d.edit("No user at all")
	// air names what came first of all that it builds for, and the edit came last.
	for line := range strings.Lines(d.log()) {
		if name, changed := strings.CutSuffix(strings.TrimSpace(line), " has changed"); changed && name != aRefusalFile {
			d.t.Errorf("there was a build for %s", name)
		}
	}
}

func (d development) finishesRequests() {
	finish, status := d.api().createSlowly("slow@example.com")
	stops := func() int { return strings.Count(d.log(), "msg=stopping") }
	before := stops()
	d.replace("No user at all", "Not a soul")
	eventually(d.t, patience, "the old program asked to stop", func() bool { return stops() > before })
	finish()
	if got := <-status; got != http.StatusCreated {
		d.t.Errorf("the request under way was answered %d", got)
	}
	d.serves("Not a soul")
}

func (d development) losesNoUser() {
	var count atomic.Int64
	var served atomic.Bool
	created := d.api().createWith(4, func() (string, bool) {
		n := count.Add(1)
		return fmt.Sprintf("between%d@example.com", n), n <= 200 || !served.Load()
	})
	eventually(d.t, patience, "50 users asked for", func() bool { return count.Load() > 50 })
	d.edit("No one")
	served.Store(true)
	emails := created()
	d.api().mustHave(emails)
	d.t.Logf("%d users were answered 201 while one program took the other's place", len(emails))
}

func (d development) polls() {
	d.api().mustCreate("before@example.com")
	d.t.Setenv("AIR_POLL", "true")
	polling := startDevelopment(d.project)
	polling.api().mustHave([]string{"before@example.com"})
	if files := docker(d.t, "exec", polling.name, "ls", "-l", "/proc/1/fd"); strings.Contains(files, "inotify") {
		d.t.Error("air waits for file events, and does not poll")
	}
	polling.edit("No user")
}

// An engine kills after 10 s.
func (d development) stops() {
	begin := time.Now()
	d.project.compose("stop", "dev")
	if took := time.Since(begin); took > 8*time.Second {
		d.t.Errorf("it took %s", took)
	}
}

// `docker compose down -v` alone leaves what the profile dev has made.
func (d development) isRemoved() {
	d.project.compose("--profile", "dev", "down", "--volumes")
	label := "label=com.docker.compose.project=" + d.project.name
	for _, kind := range []string{"container", "volume"} {
		list := []string{kind, "ls", "--quiet", "--filter", label}
		if kind == "container" {
			list = append(list, "--all")
		}
		if left := docker(d.t, list...); left != "" {
			d.t.Errorf("there is still the %s %s", kind, left)
		}
	}
}

// edit changes a text of the program and waits for the service to answer with it.
func (d development) edit(refusal string) {
	d.t.Helper()
	d.replace(d.refusal(), refusal)
	d.serves(refusal)
}

func (d development) serves(refusal string) {
	d.t.Helper()
	eventually(d.t, patience, "served: "+refusal, func() bool { return d.refusal() == refusal })
}

// refusal returns the text that edit changes, as the service says it now; "" while it does not answer.
func (d development) refusal() string {
	d.t.Helper()
	_, body := d.api().ask(http.MethodDelete, "/api/users/0", "")
	var answer struct{ Error string }
	_ = json.Unmarshal([]byte(body), &answer)
	return answer.Error
}

// replace changes the source as an editor would.
func (d development) replace(from, to string) {
	d.t.Helper()
	path := filepath.Join(d.project.directory, aRefusalFile)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), from) {
		d.t.Fatalf("%s holds no %q (%v)", path, from, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// program returns the process id of the program, in its container.
func (d development) program() string {
	d.t.Helper()
	return docker(d.t, "exec", d.name, "pidof", "users-api")
}

// touch writes a file once more, or makes it. What was not there is removed at the end.
func touch(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Cleanup(func() { _ = os.Remove(path) })
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// owners returns the uid of each file under a directory.
func owners(t *testing.T, directory string) map[string]uint32 {
	t.Helper()
	uids := map[string]uint32{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			uids[path] = info.Sys().(*syscall.Stat_t).Uid
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return uids
}
