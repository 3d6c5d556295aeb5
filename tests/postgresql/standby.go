package postgresql

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Standby starts a second server that follows this one, and returns once it does. It takes the same settings.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	following := fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%d user=postgres password='%s'", s.Port, Password)
	settings := append(slices.Clone(s.settings), "hot_standby=on", following)
	standby := &Server{Port: freePort(t), folder: newFolder(t), settings: settings}
	t.Cleanup(func() { _ = os.RemoveAll(standby.folder) }) // also of a server that does not start
	s.backUp(t, standby)
	standby.StartAgain(t)
	t.Cleanup(standby.remove)
	s.WaitUntil(t, "streaming", "SELECT coalesce(max(state), '') FROM pg_stat_replication")
	return standby
}

// backUp copies the data while the server runs, as pg_basebackup does, which not every installation has.
func (s *Server) backUp(t testing.TB, standby *Server) {
	t.Helper()
	ctx, conn, endSession := connect(t, s.URL("postgres"))
	defer endSession() // and with it the backup
	begin, end := "pg_backup_start('standby', true)", "pg_backup_stop(false)"
	if Ask(t, s.URL("postgres"), "SELECT (current_setting('server_version_num')::int < 150000)::text") == "true" {
		begin, end = "pg_start_backup('standby', true, false)", "pg_stop_backup(false, false)"
	}
	if _, err := conn.Exec(ctx, "SELECT "+begin); err != nil {
		t.Fatal(err)
	}
	run(t, "cp", "-a", s.data(), standby.folder)
	var label string
	must(t, conn.QueryRow(ctx, "SELECT labelfile FROM "+end).Scan(&label))
	must(t, os.Remove(filepath.Join(standby.data(), "postmaster.pid")))
	for name, text := range map[string]string{"backup_label": label, "standby.signal": ""} {
		path := filepath.Join(standby.data(), name)
		must(t, errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chown(path, UID(t), -1)))
	}
}

// AwaitReplay returns when a standby shows what this server shows now.
func (s *Server) AwaitReplay(t testing.TB, standby *Server) {
	t.Helper()
	written := Ask(t, s.URL("postgres"), "SELECT pg_current_wal_lsn()::text")
	standby.WaitUntil(t, "true", "SELECT (pg_last_wal_replay_lsn() >= '"+written+"')::text")
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
