package routes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
)

// record lets the database of a service record changes.
func (s *service) record(t *testing.T) {
	t.Helper()
	if err := s.RecordChanges(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// The time limits of bodies, idle connections and probes are shorter than a client may wait.
func TestNoTimeLimitEndsARequestThatWaits(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) {
		l.header, l.body, l.idle, l.probe, l.stop = time.Second, time.Second/10, time.Second/10, time.Second/10, time.Second/10
		l.behind = time.Second / 2
	})
	s.record(t)
	began := time.Now()
	reply := s.do(t, "GET", "/api/changes?wait=2", "")
	if took := time.Since(began); reply.status != 200 || took < 2*time.Second {
		t.Errorf("after %s it is answered %d %s", took, reply.status, reply.body)
	}
}

// A reader that takes nothing of a stream with many changes is cut off, and the log says so.
func TestAStreamThatIsNotReadIsCut(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]string{
		"long events": longNames,
		"short events": `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9000)
			INSERT INTO users (name, email) SELECT printf('%.*c', 1000, 'n'), i FROM n`,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(l *limits) { l.behind = time.Second / 2 })
			s.record(t)
			s.others(t, fill)
			reader := s.dial(t)
			_ = reader.SetReadBuffer(4 << 10)
			reader.send("GET /api/changes?limit=1 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
			s.waitForLog(t, "cut_by=stalled_reader")
		})
	}
}

// A storage that is lost ends the service, and those that wait with it.
func TestALostStorageEndsAStream(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.record(t)
	request, err := http.NewRequest(http.MethodGet, s.url+"/api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	stream, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close() //nolint:errcheck // it is read to its end
	if err := os.Remove(s.Path); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream.Body)
	if err != nil || string(text) != ":\n\n" {
		t.Errorf("the stream is %q, %v", text, err)
	}
	select {
	case err := <-s.ended:
		s.ended <- err
	case <-time.After(patience):
		t.Error("the service does not end")
	}
	if strings.Contains(s.log.String(), "cut off") {
		t.Errorf("a client was cut off:\n%s", s.log)
	}
}

// Many streams have the same changes in the same order.
func TestEveryStreamHasEveryChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.record(t)
	const streams, users = 64, 50
	var all sync.WaitGroup
	texts := make([]string, streams)
	for i := range texts {
		reader := s.dial(t)
		reader.send("GET /api/changes HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
		all.Go(func() {
			for n := 0; n < users; {
				line, err := reader.reader.ReadString('\n')
				if err != nil {
					t.Error(err)
					return
				}
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					texts[i] += data
					n++
				}
			}
		})
	}
	for i := range users {
		if _, err := s.Create(t.Context(), models.NewUser{Name: "n", Email: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	for i := range texts {
		if texts[i] != texts[0] {
			t.Fatalf("stream %d has\n%s, and the first\n%s", i, texts[i], texts[0])
		}
	}
	if n := strings.Count(texts[0], `"created"`); n != users {
		t.Errorf("a stream has %d of %d users", n, users)
	}
}
