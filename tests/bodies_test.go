package tests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestABodyThatStallsIsAnswered408(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, beginning := range map[string]string{
		"with a length": postUsers + "Content-Length: 100\r\n\r\n" + `{"name":`,
		"in chunks":     postChunks + "8\r\n" + `{"name":` + "\r\n",
		"of a deletion": "DELETE /api/users/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := p.Dial(t)
			conn.Send("%s", beginning)
			answers := conn.Answers() // until the close: nothing can follow half a body
			want := `{"error":"The request body did not arrive in time"}`
			if name == "of a deletion" { // whose body nobody needs
				want = noUser
			}
			if len(answers) != 1 || answers[0].Body != want {
				t.Fatalf("the answers are %v", answers)
			}
			if status := answers[0].Status; status != 408 && want != noUser {
				t.Errorf("answered %d", status)
			}
		})
	}
}

func TestAThousandLargeBodiesThatNeverEndTakeLittleMemoryAndHoldNoSmallOneUp(t *testing.T) {
	t.Parallel()
	p := start(t)
	almost := []byte(`{"name":"` + strings.Repeat("a", 1<<20-26) + `","email":"a@b"`) // 1 MiB without the last byte
	for range 1000 {
		conn := p.Dial(t)
		conn.Send("%sContent-Length: %d\r\n\r\n", postUsers, len(almost)+1)
		go conn.Write(almost) //nolint:errcheck // it waits while the program does not read
	}
	created := 0
	peak := settle(t, func() int64 {
		p.Create(t, "n", fmt.Sprint(created))
		created++
		return p.Memory(t, "VmHWM")
	})
	t.Logf("%d users were created meanwhile; the peak of memory is %s", created, mib(peak))
	if peak > program.MemoryBound(200<<20) {
		t.Errorf("the peak of memory is %s", mib(peak))
	}
}

// settle returns a figure once it has not changed for 2 s.
func settle(t *testing.T, figure func() int64) int64 {
	t.Helper()
	last, since := figure(), time.Now()
	waitFor(t, "a figure settles", func() bool {
		if now := figure(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	return last
}
