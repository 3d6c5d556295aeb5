package postgresql

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// Standby starts a second server that follows this one, and returns once it does. It takes the same settings.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby := &Server{Port: freePort(t), folder: newFolder(t), settings: append([]string{"hot_standby=on"}, s.settings...)}
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password='%s' application_name=standby", s.Port, Password)
	run(t, binary(t, "pg_basebackup"), "--dbname="+source, "--pgdata="+filepath.Join(standby.folder, "data"),
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--wal-method=stream")
	standby.StartAgain(t)
	t.Cleanup(standby.remove)
	s.WaitUntil(t, "streaming", "SELECT coalesce(max(state), '') FROM pg_stat_replication")
	return standby
}

// Synchronize makes every commit wait until a standby has it on disk.
func (s *Server) Synchronize(t testing.TB) {
	t.Helper()
	SQL(t, s.URL("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.Reload(t)
	s.WaitUntil(t, "sync", "SELECT coalesce(max(sync_state), '') FROM pg_stat_replication")
}

// Promote makes a standby a server that is written to, and returns once it is.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	SQL(t, s.URL("postgres"), "SELECT pg_promote()")
	s.WaitUntil(t, "false", "SELECT pg_is_in_recovery()::text")
}

// WaitUntil asks for a value until it is as it should be.
func (s *Server) WaitUntil(t testing.TB, value, query string) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(5 * time.Millisecond) {
		got := Ask(t, s.URL("postgres"), query)
		if got == value {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %q and never %q", query, got, value)
		}
	}
}
