package postgresql

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

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

// StartAgain starts a server that was stopped or killed, on its port. Settings are kept, and may be added.
func (s *Server) StartAgain(t testing.TB, settings ...string) {
	t.Helper()
	s.settings = append(s.settings, settings...)
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
	s.process.kill()
	s.process.wait(t)
}

// Pause stops all processes of the server where they are: connections stay open, and no process answers.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.process.signal(syscall.SIGSTOP)
	for _, child := range s.process.children() {
		_ = syscall.Kill(child, syscall.SIGSTOP)
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	for _, child := range s.process.children() {
		_ = syscall.Kill(child, syscall.SIGCONT)
	}
	s.process.signal(syscall.SIGCONT)
}

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
func (s *Server) URL(database string) string { return databaseURL(s.Port, database) }

// remove kills the server, whose data no test needs any more, and removes its folder.
func (s *Server) remove() {
	s.process.kill()
	<-s.process.exited
	freeSharedMemory(s.data())
	_ = os.RemoveAll(s.folder)
}

// freeSharedMemory frees the segment of shared memory that a killed server has left: a system has room for a few
// thousand.
func freeSharedMemory(data string) {
	if id, exists := sharedMemory(data); exists {
		_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	}
}

// sharedMemory returns the id of a server's segment: the seventh line of postmaster.pid has its key and its id.
func sharedMemory(data string) (id int, exists bool) {
	text, _ := os.ReadFile(filepath.Join(data, "postmaster.pid")) // there is none after a normal end
	lines := strings.Split(string(text), "\n")
	if len(lines) < 7 {
		return 0, false
	}
	var key int
	_, err := fmt.Sscan(lines[6], &key, &id)
	return id, err == nil
}
