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
