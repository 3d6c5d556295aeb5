package postgresql

import (
	"fmt"
	"sync"
	"testing"
)

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
