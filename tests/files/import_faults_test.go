package files

import (
	"fmt"
	"strings"
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

func TestAKillInTheMiddleOfAnImportStoresNothingOfTheFile(t *testing.T) {
	t.Parallel()
	text := program.ManyRows(60_000)
	for i, sent := range []int{len(text) / 2, len(text), len(text)} { // while it arrives, and while it is stored
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada")
			conn := p.Dial(t)
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", program.CSV, len(text))
			conn.Send("%s", text[:sent])
			p.WaitForLog(t, "import started")
			program.WaitFor(t, "it is half done", func() bool {
				return i < 2 || storing(t, p) || strings.Contains(p.Log(), "import ended")
			})
			ended := strings.Contains(p.Log(), "import ended")
			p.Kill(t)
			if ended {
				t.Skip("this machine stored the file before it could be killed")
			}
			if !program.PostgreSQL {
				program.WriteFile(t, p.DatabasePath()+"-spool-1", "as if it was killed before it took the name off")
			}
			expectNothingImported(t, program.Serve(t, "DATA_DIR="+p.DataDir))
		})
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
			status, want := 500, "database or disk is full (13)"
			if people > 100_000 {
				status, want = 503, noRoom
			}
			p.Do(t, "POST", program.CSV, program.ManyRows(people)).Expect(t, status, "…"+want+"…")
			expectNothingImported(t, p)
			p.Stop(t)
		})
	}
}

func TestAnImportWaits5sForAnotherProgramsLock(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()
	began := time.Now()
	p.Do(t, "POST", program.CSV, program.ManyRows(10)).Expect(t, 500, "…"+importHeld+"…")
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("it took %s", took)
	}
	other.LetGo()
	expectNothingImported(t, p)
}

// A stop gives an import 6 s. What is not done then is taken back.
func TestAStopEndsAnImport(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(slowTable...)
	conn := program.BeginImport(t, p, program.CSV, program.ManyRows(100_000))
	program.WaitFor(t, "it is being stored", other.MustWait)
	if took := p.Stop(t); took > 12*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if answer := conn.Answer(); answer.Status == 200 || !strings.Contains(p.Log(), "some clients were cut off") {
		t.Errorf("the import is answered %d %s:\n%s", answer.Status, answer.Body, p.Log())
	}
	again := program.Serve(t, "DATA_DIR="+p.DataDir)
	expectNothingImported(t, again)
}

func TestAnImportWhoseClientGoesAwayIsTakenBack(t *testing.T) {
	t.Parallel()
	text := program.ManyRows(200_000)
	for name, sent := range map[string]int{"in the middle of the file": len(text) / 2,
		"while it is stored": len(text)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada")
			conn := p.Dial(t)
			conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", program.CSV, len(text), text[:sent])
			_ = conn.Close()
			p.WaitForLog(t, "import ended")
			if !strings.Contains(p.Log(), "stored=false") {
				t.Skip("this machine stored the file before it noticed")
			}
			expectNothingImported(t, p)
		})
	}
}
