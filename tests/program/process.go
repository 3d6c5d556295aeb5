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

// Sockets returns on how many sockets the program listens, and how many connections of clients it has. Those to a
// database are none of either.
func (p *Program) Sockets(t testing.TB) (listening, clients int) {
	t.Helper()
	own := map[string]bool{}
	for _, entry := range p.descriptors(t) {
		target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.PID(), entry.Name())) // it may be closed by now
		own[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
	}
	const local, state, inode, listens = 1, 3, 9, "0A" // the columns of /proc/net/tcp
	ports, others := map[string]bool{}, []string{}
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.PID(), file)) // without IPv6 there is one
		for line := range strings.Lines(string(text)) {
			column := strings.Fields(line)
			if len(column) <= inode || !own[column[inode]] {
				continue
			}
			port := column[local][strings.LastIndex(column[local], ":"):]
			if column[state] == listens {
				listening++
				ports[port] = true
			} else {
				others = append(others, port)
			}
		}
	}
	for _, port := range others {
		if ports[port] {
			clients++
		}
	}
	return listening, clients
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
	_, err = fmt.Sscan(line, &kib)
	Must(t, err)
	return kib << 10
}

// MemoryBound is how much memory a program may take that has a bound, which the race detector multiplies.
func MemoryBound(bytes int64) int64 {
	if raceEnabled {
		return 10 * bytes
	}
	return bytes
}
