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

// OpenFiles returns how many file descriptors the process has.
func (p *Program) OpenFiles(t testing.TB) int {
	t.Helper()
	return len(p.descriptors(t))
}

// Sockets returns how many of its file descriptors are sockets.
func (p *Program) Sockets(t testing.TB) (n int) {
	t.Helper()
	for _, entry := range p.descriptors(t) {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.PID(), entry.Name()))
		if err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

func (p *Program) descriptors(t testing.TB) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Skipf("needs Linux's /proc: %v", err)
	}
	return entries
}

// Memory returns a figure of /proc/PID/status in bytes: VmRSS is what the process has in memory, VmHWM its peak.
func (p *Program) Memory(t testing.TB, figure string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Skipf("needs Linux's /proc: %v", err)
	}
	_, line, _ := strings.Cut(string(status), figure+":")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// MemoryBound is how much memory a program may take that has a bound, which the race detector multiplies.
func MemoryBound(bytes int64) int64 {
	if raceEnabled {
		return 10 * bytes
	}
	return bytes
}
