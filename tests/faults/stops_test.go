package faults

import (
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestAStopFinishesWhatIsUnderWayAndWaitsForNobodyElse(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, request := range []string{"", "GET /api/us"} {
		p.Dial(t).Send("%s", request)
	}
	p.BeginRequest(t, "POST /api/users", "{}") // whose body never comes
	body := program.Body("Ada", "ada@example.org")
	conn := p.BeginRequest(t, "POST /api/users", body)
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	conn.Send("%s", body)
	conn.Answer().Expect(t, 201, "…")
	p.ExpectEnd(t, 0, "some clients were cut off") // it did not wait until the body was given up
	if count := program.OpenOther(t, p.DatabasePath()).Ask("SELECT count(*) FROM users"); count != "1" {
		t.Errorf("%s users were stored", count)
	}
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.BeginRequest(t, "POST /api/users", "{}") // a stop would wait for this request, and end with exit code 0
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	again := time.NewTicker(50 * time.Millisecond) // signals of the first second count as the first one
	defer again.Stop()
	go func() {
		for range again.C {
			p.Signal(syscall.SIGTERM)
		}
	}()
	const killed = -1
	p.ExpectEnd(t, killed)
}
