package postgresql

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Server is a PostgreSQL server.
type Server struct {
	Port int

	folder   string // of its data, its sockets and its files
	settings []string
	process  *process
	databases
}

// launch starts a server on the data of a folder.
func launch(t testing.TB, folder string, settings ...string) *Server {
	t.Helper()
	s := &Server{Port: freePort(t), folder: folder, settings: settings}
	method := "trust"
	if i := slices.Index(settings, Scram); i >= 0 {
		method, s.settings = "scram-sha-256", slices.Delete(slices.Clone(settings), i, i+1)
	}
	rules := fmt.Sprintf("local all all %[1]s\nhost all,replication all 127.0.0.1/32 %[1]s\n", method)
	must(t, os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(rules), 0o644))
	s.StartAgain(t)
	return s
}

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// StartAgain starts a server that was stopped or killed, on its port.
func (s *Server) StartAgain(t testing.TB) {
	t.Helper()
	arguments := []string{"-D", s.data(), "-p", fmt.Sprint(s.Port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=" + s.folder, "-c", "lc_messages=C", "-c", "wal_keep_size=256MB"}
	for _, setting := range s.settings {
		arguments = append(arguments, "-c", setting)
	}
	s.process = begin(t, binary(t, "postgres"), arguments...)
	s.process.waitFor(t, "database system is ready to accept")
}

// Stop stops the server as an administrator does: connections are closed, and their transactions taken back.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.process.signal(syscall.SIGINT)
	s.process.wait(t)
}

// Kill ends all processes of the server as kill -9 does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.process.signalAll(syscall.SIGKILL)
	s.process.wait(t)
}

// Pause stops all processes of the server where they are: connections stay open, and no process answers.
func (s *Server) Pause(testing.TB) { s.process.signalAll(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume(testing.TB) { s.process.signalAll(syscall.SIGCONT) }

// Reload makes the server read its configuration again, and returns when it holds. New connections have what the
// server's first process has read, and a checkpoint is made after its own process, on which synchronous standbys rest,
// has read it.
func (s *Server) Reload(t testing.TB) {
	t.Helper()
	before := Ask(t, s.URL("postgres"), "SELECT pg_conf_load_time()::text")
	s.process.signal(syscall.SIGHUP)
	s.WaitUntil(t, "true", "SELECT (pg_conf_load_time() > '"+before+"')::text")
	SQL(t, s.URL("postgres"), "CHECKPOINT")
}

// URL returns the URL of a database, with the superuser's name and password.
func (s *Server) URL(database string) string {
	superuser := url.UserPassword("postgres", Password)
	return (&url.URL{Scheme: "postgres", User: superuser, Host: address(s.Port), Path: database}).String()
}

// remove kills the server, whose data no test needs any more, and removes its folder. It frees the segment of shared
// memory that a killed server has left: a system has room for a few thousand. The seventh line of postmaster.pid has its
// key and its id.
func (s *Server) remove() {
	s.process.signalAll(syscall.SIGKILL)
	<-s.process.exited
	text, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid")) // there is none after a normal end
	if lines := strings.Split(string(text), "\n"); len(lines) >= 7 {
		var key, id int
		if _, err := fmt.Sscan(lines[6], &key, &id); err == nil {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}
	_ = os.RemoveAll(s.folder)
}

// databases are those of a server that tests use, one after the other: to empty one takes a tenth of the time that it
// takes to drop it, which waits for a checkpoint, and to make another.
type databases struct {
	mu   sync.Mutex
	made int
	free []string
}

// NewDatabase returns the URL of an empty database, which is the test's alone until it ends.
func (s *Server) NewDatabase(t testing.TB) string {
	t.Helper()
	name, made := s.take()
	if made {
		SQL(t, s.URL("postgres"), "CREATE DATABASE "+name)
	}
	t.Cleanup(func() {
		if s.process.runs() && !t.Failed() { // what failed may still be used
			s.empty(t, name)
		}
	})
	return s.URL(name)
}

// take returns the name of a database that is free, or of one to be made.
func (d *databases) take() (name string, made bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.free) - 1; last >= 0 {
		name, d.free = d.free[last], d.free[:last]
		return name, false
	}
	d.made++
	return fmt.Sprint("users", d.made), true
}

// empty makes a database as good as new.
func (s *Server) empty(t testing.TB, name string) {
	t.Helper()
	SQL(t, s.URL("postgres"), "ALTER DATABASE "+name+" RESET ALL",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+name+"'")
	SQL(t, s.URL(name), `DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' LOOP
				EXECUTE format('DROP SCHEMA %I CASCADE', name);
			END LOOP; END $$`,
		"CREATE SCHEMA public")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, name)
}

// RequireTLS gives the server a certificate for 127.0.0.1 and refuses connections that are not encrypted. It returns
// the file with the certificate, which signs itself.
func (s *Server) RequireTLS(t testing.TB) (root string) {
	t.Helper()
	has := httptest.NewTLSServer(nil)
	defer has.Close()
	private, err := x509.MarshalPKCS8PrivateKey(has.TLS.Certificates[0].PrivateKey)
	must(t, err)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: has.Certificate().Raw})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	for name, text := range map[string][]byte{"server.crt": certificate, "server.key": key,
		"pg_hba.conf": []byte("hostssl all all 127.0.0.1/32 trust\n")} {
		path := filepath.Join(s.data(), name)
		must(t, errors.Join(os.WriteFile(path, text, 0o600), os.Chown(path, UID(t), -1)))
	}
	SQL(t, s.URL("postgres"), "ALTER SYSTEM SET ssl = on")
	s.Reload(t)
	root = filepath.Join(t.TempDir(), "root.crt")
	must(t, os.WriteFile(root, certificate, 0o644))
	return root
}

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
	_, err := conn.Exec(ctx, "SELECT pg_backup_start('standby', true)")
	must(t, err)
	run(t, "cp", "-a", s.data(), standby.folder)
	var label string
	must(t, conn.QueryRow(ctx, "SELECT labelfile FROM pg_backup_stop(false)").Scan(&label))
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
