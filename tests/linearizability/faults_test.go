package linearizability

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"users-api/tests/program"
)

func database(t *testing.T) string { return "DATA_DIR=" + filepath.Join(t.TempDir(), "data") }

func TestOneProcess(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(1, database(t))...)
	s.run(none, killed, stopped, paused)
	s.places[0].Load().Kill(t)
	program.ExpectIntact(t, s.places[0].Load().DatabasePath())
}

func TestManyProcessesOnOneDatabase(t *testing.T) {
	t.Parallel()
	settings := same(processes, database(t))
	settings[0] = append(settings[0], "LIST_MEMORY_MIB=0") // it reads each list while it sends it
	s := newSetup(t, settings...)
	s.follow()
	s.run(none, killed, paused)
}

func TestAnotherProgramBesideTheService(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(processes, database(t))...)
	s.other = (&otherProgram{t: t, other: program.OpenOther(t, s.places[0].Load().DatabasePath())}).ask
	s.run(none, killed, paused)
}

func TestClientsWhoseConnectionsFail(t *testing.T) {
	t.Parallel()
	s := newSetup(t, same(processes, database(t))...)
	var networks []*network
	for _, each := range s.places {
		each.through = newNetwork(t, "127.0.0.1:1")
		each.enter(each.Load())
		networks = append(networks, each.through)
	}
	s.run(troubled("connections of clients fail", networks))
}

// A fault is what happens during a round: does makes it, and what that returns ends it.
type fault struct {
	name string
	does func(s *setup) (heal func())
}

var none = fault{"nothing fails", func(*setup) func() { return func() {} }}

// killed kills a process as kill -9 does, and starts it again.
var killed = fault{"a process is killed", func(s *setup) func() {
	one := s.any()
	one.Load().Kill(s.t)
	return func() { one.start(s.t) }
}}

// stopped ends a process as an administrator does, and starts it again. No request is cut.
var stopped = fault{"a process is stopped", func(s *setup) func() {
	one := s.any()
	one.stop(s.t)
	program.Forbid(s.t, one.Load().Log(), "cut_by=stop")
	return func() { one.start(s.t) }
}}

// paused stops a process where it is, whatever it holds, and lets it go on.
var paused = fault{"a process is paused", func(s *setup) func() {
	p := s.any().Load()
	p.Signal(syscall.SIGSTOP)
	time.Sleep(s.pause())
	return func() { p.Signal(syscall.SIGCONT) }
}}

// pause is for how long something stands still: up to 10 s in a long run.
func (s *setup) pause() time.Duration {
	return time.Duration(s.random.IntN(program.Times(800, 10_000))) * time.Millisecond
}

// A network carries connections to one address, and can delay and cut them.
type network struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

func newNetwork(t *testing.T, to string) *network {
	t.Helper()
	n := &network{t: t}
	// It begins there again later. No connection leaves from that address, so that none can take the port meanwhile.
	n.begin(fmt.Sprintf("127.%d.%d.%d:12345", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)), to)
	t.Cleanup(func() { n.proxy.Stop() })
	return n
}

func (n *network) begin(at, to string) {
	n.t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n.proxy = toxiproxy.NewProxy(server, "network", at, to)
	// A process that is being started holds the listener that was closed, until it runs its own program.
	program.WaitFor(n.t, "the address "+at, func() bool { return n.proxy.Start() == nil })
}

// address is where the network begins.
func (n *network) address() string { return n.proxy.Listen }

// lead makes the network end at an address. All its connections break, and it has no trouble any more.
func (n *network) lead(to string) {
	n.t.Helper()
	n.proxy.Stop()
	n.begin(n.proxy.Listen, strings.TrimPrefix(to, "http://"))
}

// troubles are what can befall a network, as toxiproxy calls them. A number is drawn for each %d.
var troubles = []string{
	`{"type":"latency","stream":"upstream","attributes":{"latency":%d}}`,
	`{"type":"latency","stream":"downstream","attributes":{"latency":%d}}`,
	`{"type":"slicer","stream":"downstream","attributes":{"average_size":%d,"size_variation":0,"delay":100}}`,
	`{"type":"limit_data","stream":"upstream","attributes":{"bytes":%d}}`,   // requests are cut
	`{"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}}`, // answers are cut
	`{"type":"reset_peer","stream":"upstream","attributes":{"timeout":%d}}`,
	`{"type":"reset_peer","stream":"downstream","attributes":{"timeout":%d}}`,
	`{"type":"timeout","stream":"downstream","attributes":{"timeout":%d}}`, // nothing comes, and then the end
}

// troubled is a network that has troubles for a while.
func troubled(name string, networks []*network) fault {
	return fault{name, func(s *setup) func() {
		n := networks[s.random.IntN(len(networks))]
		trouble := fmt.Sprintf(troubles[s.random.IntN(len(troubles))], 1+s.random.IntN(300))
		if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(trouble)); err != nil {
			s.t.Errorf("%s: %v", trouble, err)
		}
		time.Sleep(s.pause())
		return func() { n.lead(n.proxy.Upstream) }
	}}
}
