package program

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// Client is the HTTP client that sends every request of [Program.Send].
func Client() *http.Client { return client }

// Listeners returns on how many sockets the program listens.
func (p *Program) Listeners(t testing.TB) (listening int) {
	t.Helper()
	descriptors := fmt.Sprintf("/proc/%d/fd", p.PID())
	own := map[string]bool{}
	for _, name := range NamesIn(t, descriptors) {
		target, _ := os.Readlink(descriptors + "/" + name) // it may be closed by now
		own[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
	}
	const state, inode, listens = 3, 9, "0A" // the columns of /proc/net/tcp
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.PID(), file)) // without IPv6 there is one
		for line := range strings.Lines(string(text)) {
			if column := strings.Fields(line); len(column) > inode && own[column[inode]] && column[state] == listens {
				listening++
			}
		}
	}
	return listening
}

// Memory returns a figure of /proc/PID/status in bytes: VmRSS is what the process has in memory, VmHWM its peak.
func (p *Program) Memory(t testing.TB, figure string) int64 {
	t.Helper()
	_, line, _ := strings.Cut(ReadFile(t, fmt.Sprintf("/proc/%d/status", p.PID())), figure+":")
	var kib int64
	_, err := fmt.Sscan(line, &kib)
	Must(t, err)
	return kib << 10
}

// ExpectMemory fails the test if the program ever took more than some MiB, which the race detector multiplies.
func (p *Program) ExpectMemory(t testing.TB, most int64) {
	t.Helper()
	if peak := p.Memory(t, "VmHWM"); peak > MemoryBound(most<<20) {
		t.Errorf("the peak of memory is %d MiB, want %d at most", peak>>20, most)
	}
}

// MemoryBound is how much memory a program may take that has a bound, which the race detector multiplies.
func MemoryBound(bytes int64) int64 {
	if raceEnabled {
		return 10 * bytes
	}
	return bytes
}
