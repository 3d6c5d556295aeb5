package postgresql

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Documented is a cluster as a document describes it: three machines, 10.0.0.1 to 10.0.0.3, called pg1 to pg3. The
// environments are those of the first.
type Documented struct {
	Config            string // patroni.yml
	EtcdEnvironment   string
	ServerEnvironment string // Patroni's
	URL               string // for the service
}

// Cluster is three machines with PostgreSQL, Patroni and etcd. Each is an address of the loopback network, so that all
// use the same ports, as they do on machines of their own.
type Cluster struct {
	URL      string // for the service
	Machines []*Machine

	network string // what all addresses begin with
}

// Member is a machine as Patroni sees it.
type Member struct {
	Name, Role, State string
	Timeline          int
}

// StartCluster starts a cluster and creates the database of the URL. It returns once a standby is synchronous.
func StartCluster(t testing.TB, documented Documented) *Cluster {
	t.Helper()
	c := &Cluster{network: fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(255))}
	for i := range 3 {
		c.Machines = append(c.Machines, c.newMachine(t, i+1, documented))
	}
	c.URL = c.here(documented.URL)
	for _, m := range c.Machines {
		m.startEtcd(t)
	}
	for _, m := range c.Machines {
		m.waitForEtcd(t)
		m.startPatroni(t)
	}
	c.WaitUntilWhole(t)
	c.createDatabase(t, documented)
	return c
}

// here returns a text of the document with this cluster's addresses.
func (c *Cluster) here(text string) string { return strings.ReplaceAll(text, "10.0.0.", c.network) }

// createDatabase creates the role and the database as the document says, and as the URL names them.
func (c *Cluster) createDatabase(t testing.TB, documented Documented) {
	t.Helper()
	admin, err := url.Parse(c.URL)
	must(t, err)
	name, database := admin.User.Username(), strings.TrimPrefix(admin.Path, "/")
	password, _ := admin.User.Password()
	superuser := regexp.MustCompile(`PATRONI_SUPERUSER_PASSWORD=(.*)`).FindStringSubmatch(documented.ServerEnvironment)
	admin.User, admin.Path = url.UserPassword("postgres", superuser[1]), "/postgres"
	admin.RawQuery = "target_session_attrs=read-write"
	SQL(t, admin.String(), fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", name, password),
		fmt.Sprintf("CREATE DATABASE %s OWNER %s", database, name))
	// A standby that does not know the database yet ends the search for the leader.
	replayed := "SELECT bool_and(replay_lsn = pg_current_wal_lsn())::text FROM pg_stat_replication"
	c.wait(t, "the standbys know the database", func() bool { return Ask(t, admin.String(), replayed) == "true" })
}

// Members asks the machines how the cluster is, until one of them answers. Without an answer there are none.
func (c *Cluster) Members() []Member {
	client := &http.Client{Timeout: time.Second}
	for _, m := range c.Machines {
		response, err := client.Get("http://" + m.address + ":8008/cluster")
		if err != nil {
			continue
		}
		var cluster struct{ Members []Member }
		err = json.NewDecoder(response.Body).Decode(&cluster)
		_ = response.Body.Close()
		if err == nil && response.StatusCode == http.StatusOK {
			return cluster.Members
		}
	}
	return nil
}

// with returns the machine that has a role, or nil.
func (c *Cluster) with(role string) *Machine {
	members := c.Members()
	i := slices.IndexFunc(members, func(m Member) bool { return m.Role == role })
	if i < 0 {
		return nil
	}
	return c.Machines[slices.IndexFunc(c.Machines, func(m *Machine) bool { return m.Name == members[i].Name })]
}

// WaitFor waits until a machine has a role, and is another than that which had it before, if there is one.
func (c *Cluster) WaitFor(t testing.TB, role string, before *Machine) (now *Machine) {
	t.Helper()
	c.wait(t, "another machine is the "+role, func() bool {
		now = c.with(role)
		return now != nil && now != before
	})
	return now
}

// WaitUntilWhole waits until all machines have one timeline, and a standby is synchronous.
func (c *Cluster) WaitUntilWhole(t testing.TB) {
	t.Helper()
	c.wait(t, "all machines run, and a standby is synchronous", func() bool {
		roles := map[string]int{}
		members := c.Members()
		for _, m := range members {
			if m.Timeline != members[0].Timeline || m.State != "running" && m.State != "streaming" {
				return false
			}
			roles[m.Role]++
		}
		return len(members) == len(c.Machines) && roles["leader"] == 1 && roles["sync_standby"] == 1
	})
}

func (c *Cluster) wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * Patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			for _, m := range c.Machines {
				text := m.patroni.text()
				t.Logf("%s:\n%s", m.Name, text[max(0, len(text)-8000):])
			}
			t.Fatalf("never: %s; %v", what, c.Members())
		}
	}
}

// Patronictl runs patronictl as an administrator does on the first machine that runs.
func (c *Cluster) Patronictl(t testing.TB, arguments ...string) {
	t.Helper()
	m := c.Machines[0]
	config := filepath.Join(m.folder, "patroni.yml")
	command := exec.Command("patronictl", append([]string{"-c", config}, arguments...)...)
	command.Env = append(os.Environ(), m.environment...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("patronictl %v: %v\n%s", arguments, err, output)
	}
}

// Machine is one of a [Cluster], with a server, its Patroni and a member of etcd.
type Machine struct {
	Name    string
	Cluster *Cluster

	address, folder string
	environment     []string // Patroni's
	etcdEnvironment []string
	etcd, patroni   *process
}

func (c *Cluster) newMachine(t testing.TB, n int, documented Documented) *Machine {
	t.Helper()
	for _, name := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("a cluster needs Debian's packages patroni, etcd-server and postgresql: %v", err)
		}
	}
	m := &Machine{Name: fmt.Sprint("pg", n), Cluster: c, address: fmt.Sprint(c.network, n), folder: newFolder(t)}
	t.Cleanup(func() { _ = os.RemoveAll(m.folder) })
	m.etcdEnvironment = append(c.environment(documented.EtcdEnvironment, n),
		"ETCD_DATA_DIR="+filepath.Join(m.folder, "etcd"))
	m.environment = append(c.environment(documented.ServerEnvironment, n),
		"PATRONI_POSTGRESQL_BIN_DIR="+filepath.Dir(binary(t, "postgres")), "PATRONI_POSTGRESQL_DATA_DIR="+m.data(),
		"PATRONI_POSTGRESQL_PGPASS="+filepath.Join(m.folder, "pgpass"))
	// Three servers of one machine cannot share the directory of their sockets.
	config := strings.Replace(c.here(documented.Config), "\npostgresql:\n",
		"\npostgresql:\n  parameters:\n    unix_socket_directories: "+m.folder+"\n", 1)
	must(t, os.WriteFile(filepath.Join(m.folder, "patroni.yml"), []byte(config), 0o644))
	t.Cleanup(m.remove)
	return m
}

// environment returns that of a machine; the document has that of the first.
func (c *Cluster) environment(documented string, n int) (settings []string) {
	for _, line := range strings.Split(strings.TrimSpace(documented), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, "ETCD_INITIAL_CLUSTER=") {
			line = strings.NewReplacer("10.0.0.1", fmt.Sprint("10.0.0.", n), "=pg1", fmt.Sprint("=pg", n)).Replace(line)
		}
		settings = append(settings, c.here(line))
	}
	return settings
}

func (m *Machine) data() string { return filepath.Join(m.folder, "data") }

func (m *Machine) startEtcd(t testing.TB) {
	t.Helper()
	m.etcd = begin(t, syscall.SIGQUIT, m.etcdEnvironment, "/usr/bin/etcd")
}

// waitForEtcd waits until the members of etcd have found each other. Patroni ends if they have not.
func (m *Machine) waitForEtcd(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get("http://" + m.address + ":2379/version")
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if strings.Contains(string(text), `"etcdcluster":"3`) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the members of etcd do not find each other: %v\n%s", err, m.etcd.text())
		}
	}
}

// startPatroni starts Patroni, which starts the server. If the test's process is killed, Patroni stops the server.
func (m *Machine) startPatroni(t testing.TB) {
	t.Helper()
	m.patroni = begin(t, syscall.SIGTERM, m.environment, "/usr/bin/patroni", filepath.Join(m.folder, "patroni.yml"))
}

// server returns the server's first process, or 0. The file of one that was killed may name another program's by now.
func (m *Machine) server() int {
	text, _ := os.ReadFile(filepath.Join(m.data(), "postmaster.pid")) // there may be none
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	if directory, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); directory != m.data() {
		return 0
	}
	return pid
}

// signal sends a signal to all processes of the machine.
func (m *Machine) signal(signal syscall.Signal) {
	for _, p := range []*process{m.patroni, m.etcd} {
		if p != nil {
			p.signal(signal)
		}
	}
	m.signalServer(signal)
}

func (m *Machine) signalServer(signal syscall.Signal) {
	if server := m.server(); server != 0 {
		signalAll(server, signal)
	}
}

// Kill ends all processes of the machine as kill -9 does. Those that would notice that others have ended are stopped
// first.
func (m *Machine) Kill(t testing.TB) {
	t.Helper()
	m.signal(syscall.SIGSTOP)
	m.signal(syscall.SIGKILL)
	m.patroni.wait(t)
	m.etcd.wait(t)
}

// StartAgain starts a machine that was killed.
func (m *Machine) StartAgain(t testing.TB) {
	t.Helper()
	m.startEtcd(t)
	m.waitForEtcd(t)
	m.startPatroni(t)
}

// Pause stops all processes of the machine where they are, as a virtual machine is that is moved.
func (m *Machine) Pause(testing.TB) { m.signal(syscall.SIGSTOP) }

// Resume lets a paused machine go on.
func (m *Machine) Resume(testing.TB) { m.signal(syscall.SIGCONT) }

// remove kills what runs.
func (m *Machine) remove() {
	m.signal(syscall.SIGKILL)
	for _, p := range []*process{m.patroni, m.etcd} {
		if p != nil {
			<-p.exited
		}
	}
	m.signalServer(syscall.SIGKILL) // Patroni may have started one meanwhile
	freeSharedMemory(m.data())
}
