package faults

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestAFullDiskRefusesCreationsAndNothingElse(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	directory := program.SmallDisk(t, "2m")
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	ballast := filepath.Join(directory, "ballast")
	program.FillDisk(t, ballast)
	answer := program.Answer{Status: 201}
	for n := 0; answer.Status == 201; n++ {
		answer = p.Do(t, "POST", "/api/users", program.Body(strings.Repeat("n", 2000), fmt.Sprint(n)))
	}
	answer.Expect(t, 500, "…database or disk is full (13)…")
	p.List(t)
	program.Must(t, os.Remove(ballast))
	p.Create(t, "Alan", "alan@example.org")
	list := p.Do(t, "GET", "/api/users", "").Body
	p.Again(t, "DATA_DIR="+directory).Do(t, "GET", "/api/users", "").Expect(t, 200, list)
}

// within is the program, started by a shell that does something else before, and has redirected something.
func within(t *testing.T, before, redirected string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "within")
	program.WriteFile(t, path, fmt.Sprintf("#!/bin/sh\n%s\nexec %s %s\n", before, program.Path(), redirected))
	program.Must(t, os.Chmod(path, 0o755))
	return path
}

func TestAStartWithoutFileDescriptorsSaysSo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for descriptors := 9; ; descriptors++ { // what fails first differs with their number: the database, or the port
		p := program.Launch(t, within(t, fmt.Sprint("ulimit -n ", descriptors), ""))
		if strings.Contains(p.Line(t, "level="), "listening") {
			return
		}
		program.ExpectRefusal(t, p, "cannot", "ulimit -n")
	}
}

func TestAProgramWithoutFileDescriptorsGoesOnAndRecovers(t *testing.T) {
	t.Parallel()
	p := program.Start(t, within(t, "ulimit -n 40", ""))
	p.Create(t, "Ada", "ada@example.org") // on a connection that is kept
	for range 60 {
		p.Dial(t)
	}
	p.WaitForLog(t, "too many open files")
	p.Create(t, "Alan", "alan@example.org")
	p.ExpectUsers(t, "Ada", "Alan")
	program.Forbid(t, p.Log(), "goroutine", "out of memory")
}

func TestLargeBodiesThatNeverEndTakeLittleMemoryAndDelayNoSmallOne(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	almost := []byte(`{"name":"` + strings.Repeat("a", 1<<20-26) + `","email":"a@b"`) // 1 MiB without the last byte
	for range 400 {                                                                   // twice the bound below
		conn := p.Dial(t)
		conn.Send("%sContent-Length: %d\r\n\r\n", program.PostUsers, len(almost)+1)
		go conn.Write(almost) //nolint:errcheck // it waits while the program does not read
	}
	for i := range 100 {
		p.Create(t, "n", fmt.Sprint(i))
	}
	p.ExpectMemory(t, 200)
}

// A supervisor gives the program a pipe for its log, and may end. If a line ended the program, its exit code would tell.
func TestALogWhoseReaderIsGoneDelaysNothingAndEndsNothing(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	program.Must(t, syscall.Mkfifo(pipe, 0o600))
	p := program.Launch(t, within(t, "", "2>"+pipe))
	log, err := os.Open(pipe)
	program.Must(t, err)
	program.Must(t, log.SetReadDeadline(time.Now().Add(time.Minute)))
	lines, listening := bufio.NewScanner(log), regexp.MustCompile(`http://localhost(:\d+)`)
	for p.URL == "" && lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			p.URL = "http://127.0.0.1" + match[1]
		}
	}
	program.Must(t, log.Close())
	for range 100 {
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, "[]")
	}
	if took := p.Stop(t); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAListWhoseReaderGoesIsBrokenOffAndIsNoError(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]string{"a list in memory": "64", "a list in a temporary file": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, "LIST_MEMORY_MIB="+memory)
			program.OpenOther(t, p.DatabasePath()).Fill(80_000)
			conn := p.Dial(t)
			conn.Buffer(64 << 10) // the rest waits for its reader
			conn.Send("GET /api/users HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n")
			conn.Begin()
			_ = conn.Close()
			program.Expect(t, "the line", p.Line(t, "request_id=mine"), "…level=INFO…status=200…cut_by=client…")
		})
	}
}
