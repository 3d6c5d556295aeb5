package linearizability

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

func TestABackupUnderWritersHoldsEveryUserThatWasAnsweredBeforeItBegan(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	writers := program.StartWriters(32, p)
	for range 3 {
		writers.WaitFor(t, 100)
		before := writers.Stored()
		target := program.BackUp(t, p.DataDir)
		program.ExpectIntact(t, target)
		_, users := program.ServeCopy(t, target)
		writers.Expect(t, users, before)
		if last := users[len(users)-1].ID; last != int64(len(users)) {
			t.Errorf("the backup is not of one moment: of the users up to %d, it has %d", last, len(users))
		}
	}
	writers.StopAndExpect(t, p)
}

// Clients ask for lists and do not read them, while users come, change and go, and at last the table does. All of a list was
// read before its first byte was sent: it is that of the moment in which it was asked for, whether it is kept in memory or was
// written into a file.
func TestListsAreRightHoweverLateTheyAreRead(t *testing.T) {
	t.Parallel()
	const listed = 6000 // a list has 6 MB
	for _, setting := range []string{"LIST_MEMORY_MIB=256", "LIST_MEMORY_MIB=1"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, setting)
			other := program.OpenOther(t, p.DatabasePath())
			other.Fill(listed)
			other.Do("UPDATE users SET name = '" + strings.Repeat("n", 900) + "'")
			var late [6]*program.Conn
			var then [len(late)]program.Answer
			for i := range late {
				then[i] = p.Do(t, "GET", "/api/users", "")
				late[i] = p.Dial(t)
				late[i].Buffer(64 << 10) // with 4 MiB that the sender's system takes, less than a list
				late[i].Send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
				late[i].Begin()
				p.Change(t, listed-100+int64(i), `{"name":"changed"}`)
				p.Delete(t, listed-1000+100*int64(i))
				p.Create(t, "n", fmt.Sprint("created ", i))
			}
			other.Do("DROP TABLE users")
			for i, conn := range late {
				if got := conn.Answer(); got.Body != then[i].Body {
					t.Errorf("list %d, which has %d bytes, is not right", i, len(got.Body))
				}
			}
			p.Do(t, "GET", "/api/users", "").Expect(t, 500, program.ErrorBody(program.NoTable))
		})
	}
}

// Writes that arrive during an import are done when it is, and reads do not wait. A file may be stored before a page is
// read: then a longer one follows.
func TestAnImportRefusesNoWriteAndHoldsUpNoRead(t *testing.T) {
	t.Parallel()
	for n := 5_000; !readDuringImport(t, n); n *= 2 {
		if n > 200_000 {
			t.Fatalf("no page is read before a file of %d users is stored", n)
		}
	}
}

// readDuringImport imports n users beside writes and reads, and reports whether a page was read while they were stored.
func readDuringImport(t *testing.T, n int) (wasRead bool) {
	t.Helper()
	const writers = 40
	p := program.Serve(t, "LIST_MEMORY_MIB=0")
	id := p.Create(t, "Ada", "ada")
	conn := program.BeginImport(t, p, program.CSV, program.ManyRows(n))
	other := program.OpenOther(t, p.DatabasePath())
	hasEnded := func() bool { return strings.Contains(p.Log(), "stored=") }
	program.WaitFor(t, "it is being stored", func() bool { return other.MustWait() || hasEnded() })
	other.Close()
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			answer, err := p.Send(http.MethodPost, "/api/users", program.Body("n", fmt.Sprint("meanwhile", i)))
			if err != nil || answer.Status != 201 {
				t.Errorf("a creation is answered %d %s, %v", answer.Status, answer.Body, err)
			}
		})
	}
	for !hasEnded() {
		users := p.Do(t, "GET", fmt.Sprintf("/api/users?limit=10&after=%d", id-1), "").Users(t)
		ofFile := slices.ContainsFunc(users, func(user program.User) bool { // and not of a write before or after it
			return user.Email != "ada" && !strings.HasPrefix(user.Email, "meanwhile")
		})
		if ofFile && len(users) < 10 {
			t.Errorf("a page has %d users of a file that is stored as a whole", len(users))
		}
		wasRead = wasRead || !ofFile && !hasEnded()
	}
	wait.Wait()
	conn.Answer().To("the import").Expect(t, 200, program.Imported(n, 0, 0, 0))
	counted := p.Do(t, "GET", "/api/users?limit=1&count=true", "")
	program.ExpectHeader(t, counted, "X-Total-Count", fmt.Sprint(n+writers+1))
	// A page that was read may have held up the checkpoint of the first.
	p.Do(t, "POST", program.CSV, "name,email\nn,last\n").Expect(t, 200, "…")
	if bytes := program.WALBytes(t, p); bytes > 1<<20 {
		t.Errorf("imports leave %d MiB in the -wal file", bytes>>20)
	}
	return wasRead
}
