package concurrency

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// Writes that arrive during an import are done when it is, and reads do not wait. A file may be stored before a page is
// read: then a longer one follows.
func TestAnImportRefusesNoWriteAndHoldsUpNoRead(t *testing.T) {
	t.Parallel()
	for n := 50_000; !readDuringImport(t, n); n *= 2 {
		if n > 200_000 {
			t.Fatalf("no page is read before a file of %d users is stored", n)
		}
	}
}

// readDuringImport imports a file of n users beside writes and reads, and reports whether a page was read while it was
// stored.
func readDuringImport(t *testing.T, n int) (wasRead bool) {
	t.Helper()
	const writers = 40
	p := program.Serve(t, "LIST_MEMORY_MIB=0")
	id := p.Create(t, "Ada", "ada")
	conn := program.BeginImport(t, p, program.CSV, program.ManyRows(n))
	other := program.OpenOther(t, p.DatabasePath())
	hasEnded := func() bool { return strings.Contains(p.Log(), "import ended") }
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
	if answer := conn.Answer(); answer.Body != program.Imported(n, 0, 0, 0) {
		t.Errorf("the import is answered %d %s", answer.Status, answer.Body)
	}
	if total := p.Do(t, "GET", "/api/users?limit=1&count=true",
		"").Header.Get("X-Total-Count"); total != fmt.Sprint(n+writers+1) {
		t.Errorf("%s users are stored", total)
	}
	// A page that was read may have held up the checkpoint of the first.
	p.Do(t, "POST", program.CSV, "name,email\nn,last\n").Expect(t, 200, "…")
	if bytes := program.WALBytes(t, p); bytes > 1<<20 {
		t.Errorf("imports leave %d MiB in the -wal file", bytes>>20)
	}
	return wasRead
}
