package faults

import (
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
			p.ExpectEnd(t, 0)
			program.ExpectNames(t, p.DataDir, "users.db")
		})
	}
}

func TestAStopFinishesTheRequestUnderWay(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	body := program.Body("Ada", "ada@example.org")
	conn := p.BeginRequest(t, "POST /api/users", body)
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	conn.Send("%s", body)
	conn.Answer().Expect(t, 201, "…")
	p.ExpectEnd(t, 0)
	if count := program.OpenOther(t, p.DatabasePath()).Ask("SELECT count(*) FROM users"); count != "1" {
		t.Errorf("%s users were stored", count)
	}
}

func TestAStopDoesNotWaitForClientsThatDoNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, request := range []string{"", "GET /api/us"} {
		p.Dial(t).Send("%s", request)
	}
	p.BeginRequest(t, "POST /api/users", "{}") // whose body never comes
	p.Signal(syscall.SIGTERM)
	p.ExpectEnd(t, 0, "some clients were cut off") // it did not wait until the body was given up
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.BeginRequest(t, "POST /api/users", "{}") // a stop would wait for this request, and end with exit code 0
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
	p.ExpectEnd(t, killed)
}
