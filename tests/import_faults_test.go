package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/tests/program"
)

// manyPeople is a CSV file of n people with emails in no order.
func manyPeople(n int) string {
	var text strings.Builder
	text.WriteString("name,email\n")
	for i := range n {
		fmt.Fprintf(&text, "Person %d,%x@example.org\n", i, uint64(i+1)*0x9e3779b97f4a7c15)
	}
	return text.String()
}

// beginImport sends a file and returns once all of it has arrived, with the answer to come.
func beginImport(t *testing.T, p *program.Program, path, text string) *program.Conn {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, len(text))
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// expectNothingImported fails the test unless the program has n users in a sound file and imports the next file.
func expectNothingImported(t *testing.T, p *program.Program, n int) {
	t.Helper()
	if users := p.List(t); len(users) != n {
		t.Errorf("%d users are stored, want %d", len(users), n)
	}
	expectIntact(t, p)
	expectNoSpool(t, p)
	if answer := p.Do(t, "POST", csvPath, "name,email\nNext,next\n"); answer.Body != imported(1, 0, 0, 0) {
		t.Errorf("the next import is answered %d %s", answer.Status, answer.Body)
	}
}

func TestAKillInTheMiddleOfAnImportStoresNothingOfTheFile(t *testing.T) {
	t.Parallel()
	text := manyPeople(60_000)
	for i, sent := range []int{len(text) / 2, len(text), len(text)} { // while it arrives, and while it is stored
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada")
			conn := p.Dial(t)
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", csvPath, len(text))
			conn.Send("%s", text[:sent])
			p.WaitForLog(t, "import started")
			waitFor(t, "it is half done", func() bool {
				return i < 2 || storing(t, p) || strings.Contains(p.Log(), "import ended")
			})
			ended := strings.Contains(p.Log(), "import ended")
			p.Kill(t)
			if ended {
				t.Skip("this machine stored the file before it could be killed")
			}
			if !program.PostgreSQL {
				writeFile(t, p.DatabasePath()+"-spool-1", "as if it was killed before it took the name off")
			}
			expectNothingImported(t, start(t, "DATA_DIR="+p.DataDir), 1)
		})
	}
}

func TestAFullDiskRefusesAnImportAsAWhole(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	needsRoot(t)
	for name, people := range map[string]int{"while the file arrives": 150_000, "while it is stored": 25_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			mount(t, "-t", "tmpfs", "-o", "size=3m", "tmpfs", directory)
			p := start(t, "DATA_DIR="+directory)
			p.Create(t, "Ada", "ada")
			answer := p.Do(t, "POST", csvPath, manyPeople(people))
			status, want := 500, "database or disk is full (13)"
			if people > 100_000 {
				status, want = 503, noRoom
			}
			if answer.Status != status || !strings.Contains(answer.Body, want) {
				t.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			expectNothingImported(t, p, 1)
			p.Stop(t)
		})
	}
}

func TestAnImportWaits5sForAnotherProgramsLock(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()
	began := time.Now()
	answer := p.Do(t, "POST", csvPath, manyPeople(10))
	if took := time.Since(began); answer.Status != 500 || !strings.Contains(answer.Body, importHeld) ||
		took < 4*time.Second {
		t.Errorf("answered %d %s after %s", answer.Status, answer.Body, took)
	}
	other.LetGo()
	expectNothingImported(t, p, 1)
}

// A stop gives an import 6 s. What is not done then is taken back.
func TestAStopEndsAnImport(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada")
	conn := beginImport(t, p, csvPath, manyPeople(3_000_000)) // twice as many as 6 s would do
	p.WaitForLog(t, "import started")
	waitFor(t, "it is being stored", func() bool { return storing(t, p) })
	if took := p.Stop(t); took > 12*time.Second {
		t.Errorf("the stop took %s", took)
	}
	answer := conn.Answer()
	again := start(t, "DATA_DIR="+p.DataDir)
	if answer.Status == 200 {
		t.Skip("this machine stored the file before the stop was over")
	}
	expectNothingImported(t, again, 1)
}

func TestAnImportWhoseClientGoesAwayIsTakenBack(t *testing.T) {
	t.Parallel()
	text := manyPeople(200_000)
	for name, sent := range map[string]int{"in the middle of the file": len(text) / 2,
		"while it is stored": len(text)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada")
			conn := p.Dial(t)
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", csvPath, len(text), text[:sent])
			_ = conn.Close()
			p.WaitForLog(t, "import ended")
			if !strings.Contains(p.Log(), "stored=false") {
				t.Skip("this machine stored the file before it noticed")
			}
			expectNothingImported(t, p, 1)
		})
	}
}

// Writes that arrive during an import are done when it is, and reads do not wait.
func TestAnImportRefusesNoWriteAndHoldsUpNoRead(t *testing.T) {
	t.Parallel()
	const n, writers = 100_000, 40
	p := start(t, "LIST_MEMORY_MIB=0")
	id := p.Create(t, "Ada", "ada")
	conn := beginImport(t, p, csvPath, manyPeople(n))
	p.WaitForLog(t, "import started")
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			answer, err := p.Send(http.MethodPost, "/api/users", program.Body("n", fmt.Sprint("meanwhile", i)))
			if err != nil || answer.Status != 201 {
				t.Errorf("a creation is answered %d %s, %v", answer.Status, answer.Body, err)
			}
		})
	}
	var slowest time.Duration
	for !strings.Contains(p.Log(), "import ended") {
		began := time.Now()
		page := p.Do(t, "GET", fmt.Sprintf("/api/users?limit=10&after=%d", id-1), "")
		users := page.Users(t)
		ofFile := slices.ContainsFunc(users, func(user program.User) bool { // and not of a write before or after it
			return user.Email != "ada" && !strings.HasPrefix(user.Email, "meanwhile")
		})
		if ofFile && len(users) < 10 {
			t.Errorf("a page has %d users of a file that is stored as a whole", len(users))
		}
		slowest = max(slowest, time.Since(began))
	}
	wait.Wait()
	if answer := conn.Answer(); answer.Body != imported(n, 0, 0, 0) {
		t.Errorf("the import is answered %d %s", answer.Status, answer.Body)
	}
	if total := p.Do(t, "GET", "/api/users?limit=1&count=true",
		"").Header.Get("X-Total-Count"); total != fmt.Sprint(n+writers+1) {
		t.Errorf("%s users are stored", total)
	}
	if slowest > 5*time.Second {
		t.Errorf("a page waited %s", slowest)
	}
	t.Logf("the slowest page took %s", slowest.Round(time.Millisecond))
}
