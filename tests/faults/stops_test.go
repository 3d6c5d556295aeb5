package faults

import (
	"os"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestACleanStopLeavesOneFile(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			p.List(t)
			p.Signal(signal)
			if code := p.Wait(t); code != 0 {
				t.Errorf("the exit code is %d", code)
			}
			files, err := os.ReadDir(p.DataDir)
			if err != nil || len(files) != 1 || files[0].Name() != "users.db" {
				t.Errorf("the data directory holds %v, %v", files, err)
			}
		})
	}
}

func TestAStopFinishesTheRequestUnderWay(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	conn := p.Dial(t)
	body := program.Body("Ada", "ada@example.org")
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n")
	conn.Send("Content-Length: %d\r\n\r\n", len(body))
	conn.Expect("HTTP/1.1 100 Continue\r\n") // the handler is reading the body
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	conn.Send("%s", body)
	conn.Expect("HTTP/1.1 201 Created\r\n")
	if code := p.Wait(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if count := program.OpenOther(t, p.DatabasePath()).Ask("SELECT count(*) FROM users"); count != "1" {
		t.Errorf("%s users were stored", count)
	}
}

func TestAStopDoesNotWaitForClientsThatDoNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, request := range []string{"", "GET /api/us", program.PostUsers + "Content-Length: 100\r\n\r\n{"} {
		p.Dial(t).Send("%s", request)
	}
	p.Do(t, "GET", "/health", "")
	if took := p.Stop(t); took > 8*time.Second {
		t.Errorf("it took %s to stop", took)
	}
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	conn.Expect("HTTP/1.1 100 Continue\r\n") // a stop would wait for this request, and end with exit code 0
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond): // those of the first second count as the first signal
				p.Signal(syscall.SIGTERM)
			}
		}
	}()
	const killed = -1
	if code := p.Wait(t); code != killed {
		t.Errorf("the exit code is %d", code)
	}
}
