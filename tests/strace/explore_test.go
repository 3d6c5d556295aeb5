//go:build strace

package strace

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"users-api/tests/program"
)

// A check returns an error unless what a directory holds after a power cut agrees with what had been answered.
type check func(directory string, at int) error

// An exploration cuts the power at random moments, and checks what the disk may hold then.
type exploration struct {
	*recording
	check    check
	memory   string // a directory for what is made
	ended    time.Time
	mu       sync.Mutex
	states   int
	failures []string
}

// cutPower explores for some time, or with -long for its share of that, and fails the test if a state is wrong.
func (x *recording) cutPower(check check, quick time.Duration) {
	x.t.Helper()
	x.expectTrue()
	took := quick
	if *program.Long > 0 {
		took = *program.Long / scenarios
	}
	began := time.Now()
	states, failures := x.explore(check, took)
	x.t.Logf("%d states after power cuts in %d events, in %s", states, len(x.events), time.Since(began).Round(time.Second))
	for _, failure := range failures {
		x.t.Error(failure)
	}
}

// explore returns how many states it has checked, and what was wrong with the first few.
func (x *recording) explore(check check, took time.Duration) (states int, failures []string) {
	memory, err := os.MkdirTemp("/dev/shm", "users-api") // the states need no disk
	if err != nil {
		memory = x.t.TempDir()
	}
	defer os.RemoveAll(memory) //nolint:errcheck // the system cleans up as well
	e := &exploration{recording: x, check: check, memory: memory, ended: time.Now().Add(took)}
	for pass := 0; time.Now().Before(e.ended) && len(e.failures) == 0; pass++ {
		e.pass(rand.Uint64())
	}
	return e.states, e.failures
}

// pass replays the trace and cuts it at about a hundred moments.
func (e *exploration) pass(seed uint64) {
	random := rand.New(rand.NewPCG(seed, seed))
	chosen := e.choose(random)
	var wait sync.WaitGroup
	defer wait.Wait()
	places := make(chan string, runtime.GOMAXPROCS(0))
	for i := range cap(places) {
		places <- filepath.Join(e.memory, fmt.Sprint(i))
	}
	err := e.replay(func(at int, _ event, d *disk) {
		for range chosen[at] {
			place, c := <-places, chances(random)
			if time.Now().After(e.ended) || len(e.failed()) > 0 {
				places <- place
				return
			}
			if random.IntN(3) == 0 {
				c = chance{} // only what was flushed
			}
			if err := d.writeTo(place, c); err != nil {
				e.t.Error(err)
			}
			wait.Go(func() { e.try(place, at, fmt.Sprintf("pass %d", seed)); places <- place })
		}
	})
	if err != nil {
		e.t.Error(err)
	}
}

// choose returns how many cuts are made at each event: half of them beside the beginnings and ends of flushes and answers.
func (e *exploration) choose(random *rand.Rand) map[int]int {
	const cuts = 100
	beside := slices.Sorted(maps.Values(e.answers))
	for at, event := range e.events {
		if strings.HasSuffix(event.name, "sync") {
			beside = append(beside, at)
		}
	}
	chosen := map[int]int{len(e.events) - 1: 1}
	for range cuts / 2 {
		chosen[random.IntN(len(e.events))]++
		chosen[beside[random.IntN(len(beside))]]++
	}
	return chosen
}

func (e *exploration) failed() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failures
}

// try checks a state and removes it.
func (e *exploration) try(place string, at int, how string) {
	before := describe(place)
	err := e.check(place, at)
	if removed := os.RemoveAll(place); removed != nil {
		e.t.Error(removed)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.states++
	if err != nil {
		e.failures = append(e.failures, fmt.Sprintf("%v\nafter a cut at event %d of %d (%s), with\n%s\nThe last events:\n%s",
			err, at, len(e.events), how, before, e.lastEvents(at)))
	}
}

// describe tells which files there are.
func describe(root string) (text string) {
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if info, statErr := os.Stat(path); err == nil && statErr == nil {
			text += fmt.Sprintf("  %s: %d bytes\n", strings.TrimPrefix(path, root), info.Size())
		}
		return nil
	})
	return text
}

func (e *exploration) lastEvents(at int) (text string) {
	for _, event := range e.events[max(0, at-40) : at+1] {
		_, path := event.file()
		kind := "ends"
		if event.begins {
			kind = "begins"
		}
		if path == "" && len(event.texts) > 0 {
			path = strings.Join(event.texts, " ")
		}
		arguments := event.arguments[strings.Index(event.arguments, ">")+1:]
		text += fmt.Sprintf("  %s %s %.120q %.60s = %d\n", event.name, kind, path, arguments, event.result)
	}
	return text
}
