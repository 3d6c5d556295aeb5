package postgresql

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	c.createDatabase(t)
	return c
}

// here returns a text of the document with this cluster's addresses.
func (c *Cluster) here(text string) string { return strings.ReplaceAll(text, "10.0.0.", c.network) }

// createDatabase creates the role and the database as the document says, and as the URL names them.
func (c *Cluster) createDatabase(t testing.TB) {
	t.Helper()
	rest := strings.TrimPrefix(c.URL, "postgres://")
	account, place, _ := strings.Cut(rest, "@")
	name, password, _ := strings.Cut(account, ":")
	hosts, database, _ := strings.Cut(place, "/")
	first := c.Machines[0]
	superuser := first.setting("PATRONI_SUPERUSER_USERNAME") + ":" + first.setting("PATRONI_SUPERUSER_PASSWORD")
	admin := "postgres://" + superuser + "@" + hosts + "/postgres?target_session_attrs=read-write"
	SQL(t, admin, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", name, password),
		fmt.Sprintf("CREATE DATABASE %s OWNER %s", database, name))
	// A standby that does not know the database yet ends the search for the leader.
	replayed := "SELECT bool_and(replay_lsn = pg_current_wal_lsn())::text FROM pg_stat_replication"
	c.wait(t, "the standbys know the database", func() bool { return Ask(t, admin, replayed) == "true" })
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
