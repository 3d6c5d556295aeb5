package routes

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
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

func TestAStreamWithoutChangesHasACommentNowAndThen(t *testing.T) {
	t.Parallel()
	const every = 200 * time.Millisecond
	s := start(t, func(l *limits) { l.heartbeat = every })
	s.record(t)
	conn, began := s.dial(t), time.Now()
	conn.send("GET /api/changes HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
	for comments := 0; comments < 3; {
		line, err := conn.reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ":\n" {
			comments++
		}
	}
	if took := time.Since(began); took < 2*every || took > 50*every { // the first comes at once
		t.Errorf("three comments came in %s", took)
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
