//go:build postgres

package postgresql

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	code := m.Run()
	End()
	os.Exit(code)
}

func TestAServerIsThereAgainWithWhatWasCommitted(t *testing.T) {
	for name, end := range map[string]func(*Server, testing.TB){
		"stopped": (*Server).Stop, "killed": (*Server).Kill,
		"paused": func(s *Server, t testing.TB) { s.Pause(t); s.Resume(t); s.Stop(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := Start(t, Scram)
			url := server.NewDatabase(t)
			SQL(t, url, "CREATE TABLE t AS SELECT 7 AS n")
			end(server, t)
			server.StartAgain(t)
			if n := Ask(t, url, "SELECT n::text FROM t"); n != "7" {
				t.Errorf("the table has %s", n)
			}
		})
	}
}

// A system has room for a few thousand segments of shared memory, and keeps those of killed servers.
func TestAServerLeavesNoSharedMemory(t *testing.T) {
	segment := 0
	t.Run("while it runs", func(t *testing.T) {
		segment, _ = sharedMemory(Start(t).data())
		if _, err := unix.SysvShmCtl(segment, unix.IPC_STAT, &unix.SysvShmDesc{}); err != nil {
			t.Fatalf("segment %d: %v", segment, err)
		}
	})
	if _, err := unix.SysvShmCtl(segment, unix.IPC_STAT, &unix.SysvShmDesc{}); !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		t.Errorf("afterwards, segment %d is still there: %v", segment, err)
	}
}

func TestAStandbyHasWhatWasCommittedAndIsPromoted(t *testing.T) {
	t.Parallel()
	server := Start(t)
	url := server.NewDatabase(t)
	standby := server.Standby(t)
	server.Synchronize(t)
	SQL(t, url, "CREATE TABLE t AS SELECT 7 AS n")
	server.Kill(t)
	standby.Promote(t)
	if n := Ask(t, At(t, url, standby), "UPDATE t SET n = n + 1 RETURNING n::text"); n != "8" {
		t.Errorf("the table has %s", n)
	}
}

func TestAPoolerIsInFrontOfAServer(t *testing.T) {
	t.Parallel()
	server := Start(t, Scram)
	through := server.PgBouncer(t, "default_pool_size=1")
	url := through(server.NewDatabase(t))
	first := Ask(t, url, "SELECT pg_backend_pid()::text")
	if second := Ask(t, url, "SELECT pg_backend_pid()::text"); second != first {
		t.Errorf("two connections through a pooler of one are served by %s and %s", first, second)
	}
}
