package routes

import (
	"runtime"
	"testing"
	"time"
)

// What a slow reader of a long list holds is what it is being sent, and no page beside it: with a page for each, 400 of them
// took more memory than the service may have, and the garbage collector a core.
func TestSlowReadersHoldNoPages(t *testing.T) {
	if testing.Short() {
		t.Skip("memory says little with the race detector, which runs with -short")
	}
	for _, test := range []struct {
		name, fill, path string
		readers          int
		most             int64 // bytes for each
	}{
		{"a list in the other order", ordinaryUsers, "/api/users?order=desc", 40, 110 << 10},
		{"a list of long names that is too large to be kept", longNames, "/api/users", 8, 3000 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t)
			s.others(t, test.fill)
			before := heapInUse()
			for range test.readers {
				reader := s.dial(t)
				_ = reader.SetReadBuffer(4 << 10)
				reader.send("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", test.path)
				if _, err := reader.reader.Peek(1); err != nil {
					t.Fatal(err)
				}
			}
			var held int64
			for began := time.Now(); time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
				if held = (heapInUse() - before) / int64(test.readers); held <= test.most {
					return
				}
			}
			t.Errorf("each of %d readers holds %d KiB", test.readers, held>>10)
		})
	}
}

const (
	ordinaryUsers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000)
		INSERT INTO users (name, email) SELECT 'Person ' || i, 'person' || i || '@example.org' FROM n`
	longNames = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9)
		INSERT INTO users (name, email) SELECT printf('%.*c', 1000000, 'n'), 'long' || i FROM n`
)

// heapInUse returns the bytes that are in use, and not those that a sync.Pool keeps until the second collection: they may go at
// any time, and then more was in use before than after.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
