package files

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// expectNothingImported fails the test unless the program has Ada alone in a sound file and imports the next file.
func expectNothingImported(t *testing.T, p *program.Program) {
	t.Helper()
	p.ExpectUsers(t, "Ada")
	program.ExpectIntact(t, p.DatabasePath())
	program.ExpectNoSpool(t, p)
	p.Do(t, "POST", program.CSV, "name,email\nNext,next\n").Expect(t, 200, program.Imported(1, 0, 0, 0))
}

// An import is broken off while its file arrives, and while it is stored.
func TestAnImportThatBreaksOffStoresNothing(t *testing.T) {
	t.Parallel()
	text := program.ManyRows(60_000)
	for name, isKilled := range map[string]bool{"by a kill": true, "by its client": false} {
		for when, sent := range map[string]string{"while the file arrives": text[:len(text)/2], "while it is stored": text} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				p := program.Serve(t)
				p.Create(t, "Ada", "ada")
				other := program.OpenOther(t, p.DatabasePath())
				other.Do(slowTable...)
				client := p.Dial(t)
				client.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", program.CSV, len(text), sent)
				p.WaitForLog(t, "import started")
				program.WaitFor(t, "it is being stored", func() bool { return sent != text || other.MustWait() })
				if isKilled {
					p.Kill(t)
					if !program.PostgreSQL {
						program.WriteFile(t, p.DatabasePath()+"-spool-1", "as if it was killed before it took the name off")
					}
					p = program.Serve(t, "DATA_DIR="+p.DataDir)
				} else {
					_ = client.Close()
					program.Expect(t, "the log", p.Line(t, "stored="), "…stored=false…")
				}
				expectNothingImported(t, p)
			})
		}
	}
}

func TestAFullDiskRefusesAnImportAsAWhole(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, people := range map[string]int{"while the file arrives": 150_000, "while it is stored": 26_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, "DATA_DIR="+program.SmallDisk(t, "3m"))
			p.Create(t, "Ada", "ada")
			answer := program.ImportRefused(t, p, program.CSV, program.ManyRows(people))
			if people > 100_000 {
				expectNoRoom(t, answer)
			} else {
				answer.Expect(t, 500, "…database or disk is full (13)…")
			}
			expectNothingImported(t, p)
			p.Stop(t)
		})
	}
}

// A stop gives an import 6 s, and this one would take minutes. What is not done then is taken back.
func TestAStopEndsAnImport(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(slowTable...)
	conn := program.BeginImport(t, p, program.CSV, program.ManyRows(100_000))
	program.WaitFor(t, "it is being stored", other.MustWait)
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	p.Signal(syscall.SIGSTOP) // the import would keep a processor busy all the time
	time.Sleep(5 * time.Second)
	p.Signal(syscall.SIGCONT)
	p.ExpectEnd(t, 0, "some clients were cut off")
	if answer := conn.Answer(); answer.Status == 200 {
		t.Errorf("the import is answered %s", answer.Body)
	}
	expectNothingImported(t, program.Serve(t, "DATA_DIR="+p.DataDir))
}

// expectNoRoom expects that the files of others leave no disk to an import or export.
func expectNoRoom(t *testing.T, answer program.Answer) {
	t.Helper()
	answer.Expect(t, 503, "…too little of the disk is free…")
	program.ExpectHeader(t, answer, "Retry-After", "5")
}

// Whoever may only read can take many answers, slowly, and stop nobody else: these have places of their own.
func TestSlowReadersWithAReadKeyStopNobodyElse(t *testing.T) {
	t.Parallel()
	const read, full = "X-API-Key: read-key-0123456789", "X-API-Key: full-key-0123456789"
	disk := program.SmallDisk(t, "72m")
	p := program.Serve(t, "DATA_DIR="+disk, "TMPDIR="+disk, "LIST_MEMORY_MIB=0",
		"API_KEY=full-key-0123456789", "API_READ_KEY=read-key-0123456789")
	rows := "name,email\n"
	for i := range 10 {
		rows += strings.Repeat("n", 500_000) + fmt.Sprintf(",%d\n", i)
	}
	p.Do(t, "POST", program.CSV, rows, full).Expect(t, 200, program.Imported(10, 0, 0, 0))
	batch := func(items int) string {
		const item = `{"method":"GET","path":"/api/users?limit=1"}`
		return `{"requests":[` + strings.Repeat(item+",", items-1) + item + `]}`
	}
	for i := range 64 {
		request, body := []string{"GET " + program.CSV, "GET /api/users", "POST /api/users/batch", "GET /api/users?limit=1"}[i%4], ""
		if i%4 == 2 {
			body = batch(20)
		}
		reader := p.Dial(t)
		reader.Buffer(4 << 10)
		reader.Send("%s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", request, read, len(body), body)
		reader.Begin()
	}
	for range 4 {
		p.Dial(t).Send("POST /api/users/batch HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 100\r\n\r\n{", read) // and no more
	}
	for _, path := range []string{"/api/users", "/api/users?limit=5", program.CSV, program.NDJSON} {
		p.Do(t, "GET", path, "", full).Expect(t, 200, "…nnn…")
	}
	p.Do(t, "POST", "/api/users/batch", batch(20), full).Expect(t, 200, "…nnn…")
	p.Do(t, "POST", program.CSV, program.ManyRows(20_000), full).Expect(t, 200, program.Imported(20_000, 0, 0, 0))
}

// What an answer of 1 MiB needs is memory: while the disk is full, an operator can look at what there is.
func TestOnAFullDiskAnswersOf1MiBAreGiven(t *testing.T) {
	t.Parallel()
	disk := program.SmallDisk(t, "4m")
	p := program.Serve(t, "DATA_DIR="+disk, "TMPDIR="+disk, "LIST_MEMORY_MIB=0")
	p.Create(t, strings.Repeat("n", 900_000), "ada")
	program.FillDisk(t, filepath.Join(disk, "ballast"))
	const batch = `{"requests":[{"method":"GET","path":"/api/users/1"}%s]}`
	for range 20 { // each gives back what it takes
		for _, path := range []string{"/api/users", "/api/users?limit=9", "/api/users?q=n", program.CSV, program.NDJSON} {
			p.Do(t, "GET", path, "").Expect(t, 200, "…nnn…")
		}
		p.Do(t, "POST", "/api/users/batch", fmt.Sprintf(batch, "")).Expect(t, 200, "…nnn…")
	}
	expectNoRoom(t, p.Do(t, "POST", "/api/users/batch", fmt.Sprintf(batch, `,{"method":"GET","path":"/api/users?limit=1"}`)))
}

// Exports are written beside the database: many slow readers must not take the disk from writers.
func TestSlowReadersOfExportsLeaveTheDiskToWrites(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t, "DATA_DIR="+program.SmallDisk(t, "72m"))
	for i := range 10 {
		p.Create(t, strings.Repeat("n", 500_000), fmt.Sprint(i))
	}
	var readers []*program.Conn
	for i := range 30 { // of many sizes, to take all that there is
		reader := p.Dial(t)
		reader.Buffer(4 << 10)
		reader.Send("GET %s?after=%d HTTP/1.1\r\nHost: x\r\n\r\n", program.CSV, i%10)
		reader.Begin()
		readers = append(readers, reader)
	}
	for i := range 7 {
		p.Create(t, strings.Repeat("n", 900_000), fmt.Sprint("during ", i))
	}
	people := program.ManyRows(900_000) // more than is left beside the readers
	expectNoRoom(t, program.ImportRefused(t, p, program.CSV, people))
	for _, reader := range readers {
		_ = reader.Close()
	}
	program.WaitFor(t, "an export is whole again", func() bool {
		answer, err := p.Send("GET", program.CSV, "")
		return err == nil && answer.Status == 200 && strings.Count(answer.Body, "\r\n") == 18
	})
	p.Stop(t)
}
