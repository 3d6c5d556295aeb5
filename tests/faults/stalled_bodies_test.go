package faults

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

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
	peak := p.Memory(t, "VmHWM")
	t.Logf("the peak of memory is %d MiB", peak>>20)
	if peak > program.MemoryBound(200<<20) {
		t.Errorf("the peak of memory is %d MiB", peak>>20)
	}
}
