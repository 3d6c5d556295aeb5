package changes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"users-api/tests/followers"
	"users-api/tests/program"
)

// services are two processes of the service on one database. One of them is killed again and again.
type services struct {
	t    *testing.T
	live [2]atomic.Pointer[program.Program]
}

func start(t *testing.T) *services {
	first := program.ServeFeed(t)
	s := &services{t: t}
	s.live[0].Store(first)
	s.live[1].Store(program.Serve(t, "DATA_DIR="+first.DataDir))
	return s
}

func (s *services) any() *program.Program { return s.live[rand.IntN(2)].Load() }

// killOne ends one of them as kill -9 does, and starts another one.
func (s *services) killOne() {
	one := &s.live[rand.IntN(2)]
	killed := one.Load()
	killed.Kill(s.t)
	one.Store(program.Serve(s.t, "DATA_DIR="+killed.DataDir))
}

// A copy that is kept by the feed ends as the list, whichever processes and programs write, and whatever is killed
// meanwhile.
func TestACopyThatFollowsTheFeedEndsAsTheList(t *testing.T) {
	t.Parallel()
	s := start(t)
	var all []*followers.Follower
	for round := range program.Times(2, 15) {
		next := [...]func(*followers.Follower) error{(*followers.Follower).Poll, (*followers.Follower).Watch}[round%2]
		f := &followers.Follower{Name: fmt.Sprint("follower ", round), Next: next, Any: s.any}
		all = append(all[max(0, len(all)-3):], f)
		writes := s.round(all)
		list := s.any().List(t)
		reads := 0
		for _, f := range all {
			f.Settle(t, s.any())
			reads += f.Reads
		}
		t.Logf("round %d: %d writes, %d users, %d responses", round, writes, len(list), reads)
		if t.Failed() {
			return
		}
	}
}

// round writes for a while, and kills a service, while clients follow. It returns how many writes were answered.
func (s *services) round(all []*followers.Follower) (writes int64) {
	var count atomic.Int64
	w := followers.Begin(s.t)
	for range 6 {
		w.Repeat(func() { s.writeOne(&count) })
	}
	w.Repeat(s.writeFromOutside)
	w.Repeat(s.importSome)
	for _, f := range all {
		w.Follow(f)
	}
	for range program.Times(1, 3) {
		before := count.Load()
		program.WaitFor(s.t, "users are written", func() bool { return count.Load() > before+300 })
		s.killOne()
		s.any().Run(s.t, "ignore-email-case") // it may be refused: an import may hold the lock, or some emails be the same
	}
	before := count.Load()
	program.WaitFor(s.t, "users are written", func() bool { return count.Load() > before+100 })
	w.End()
	return count.Load()
}

var next atomic.Int64

// writeOne creates, changes or deletes a user. A refusal, and a service that is killed, are no matter.
func (s *services) writeOne(count *atomic.Int64) {
	n := next.Add(1)
	id := rand.Int64N(n) + 1
	var err error
	switch p := s.any(); rand.IntN(5) {
	case 0, 1:
		_, err = p.Send("POST", "/api/users", program.Body(fmt.Sprint("n", n), fmt.Sprint("u", n)))
	case 2, 3:
		_, err = p.Send("PATCH", fmt.Sprint("/api/users/", id), program.Body(fmt.Sprint("n", n), fmt.Sprint("p", n)))
	default:
		_, err = p.Send("DELETE", fmt.Sprint("/api/users/", id), "")
	}
	if err == nil {
		count.Add(1)
	}
}

// writeFromOutside writes in the database's own shell. A statement that is refused, because of an email that is taken, leaves
// nothing.
func (s *services) writeFromOutside() {
	n := next.Add(1)
	statements := append([]string{
		"INSERT INTO users (name, email) VALUES ('shell', 's%[1]d'), ('shell', 't%[1]d')",
		"UPDATE users SET name = 'shell' WHERE id %% 13 = %d",
		"DELETE FROM users WHERE id %% 31 = %d",
		"UPDATE users SET id = -id WHERE id %% 53 = %d",
		"INSERT INTO users (name, email) VALUES ('upsert', 'u%d') ON CONFLICT (email) DO UPDATE SET name = excluded.name",
		"BEGIN; UPDATE users SET name = 'rolled back' WHERE id > %d; ROLLBACK",
		"BEGIN; DELETE FROM users WHERE id %% 23 = %[1]d; INSERT INTO users (name, email) VALUES ('again', 'a%[1]d'); COMMIT",
	}, replaces...)
	statement := statements[rand.IntN(len(statements))]
	value := n % 100
	if strings.Contains(statement, "INSERT") {
		value = n
	}
	_ = shell(s.t, s.live[0].Load(), fmt.Sprintf(statement, value))
}

// importSome imports a file with most users and a few new ones, and deletes those that are missing from it.
func (s *services) importSome() {
	time.Sleep(50 * time.Millisecond) // others write, too
	answer, err := s.any().Send("GET", program.CSV, "")
	if err != nil {
		return
	}
	lines := strings.SplitAfter(answer.Body, "\n")
	var file strings.Builder
	file.WriteString("name,email\n")
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		if len(fields) < 3 || rand.IntN(20) == 0 {
			continue
		}
		name := fields[1]
		if rand.IntN(10) == 0 {
			name = "imported"
		}
		fmt.Fprintf(&file, "%s,%s\n", name, fields[2])
	}
	for range 5 {
		fmt.Fprintf(&file, "new,i%d\n", next.Add(1))
	}
	options := "?on_conflict=update&on_missing=delete&max_deletes=100000"
	if rand.IntN(3) == 0 {
		options += "&dry_run=true"
	}
	_, _ = s.any().Send("POST", program.CSV+options, file.String())
}
