package linearizability

import (
	"errors"
	"math"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"users-api/tests/program"
)

// A Recorder records what clients asked and were answered. At the end of a history no request may be under way: stop
// the processes, or wait for them, and then let it be judged with the users that are stored. The next history begins
// with them.
type Recorder struct {
	t       testing.TB
	before  state
	started time.Time
	fails   bool // something does: outcomes may stay unknown

	mu         sync.Mutex
	operations []porcupine.Operation
	tagged     map[string]Answer // what each path showed with an ETag
}

// newRecorder returns one for a history that begins with these users. Fails says that outcomes may stay unknown.
func newRecorder(t testing.TB, before []program.User, fails bool) *Recorder {
	t.Helper()
	r := &Recorder{t: t, started: time.Now(), fails: fails, tagged: map[string]Answer{}}
	for _, user := range before {
		if !r.before.add(user) {
			t.Fatalf("%v is not one of the emails of histories", user)
		}
	}
	return r
}

// now is the time of the clock that cannot jump.
func (r *Recorder) now() int64 { return int64(time.Since(r.started)) }

// Ask sends a request, records it, and returns its answer and its ETag.
func (r *Recorder) Ask(client int, p *program.Program, request Request) (answer Answer, tag string) {
	called := r.now()
	got, err := request.send(p)
	switch failed, ok := errors.AsType[*net.OpError](err); {
	case ok && failed.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED):
		return Answer{Code: nothing}, ""
	case err != nil: // the connection broke, or nothing came in time
		r.note(client, request, Answer{Code: unknown}, called)
		return Answer{Code: unknown}, ""
	case got.Status == 304:
		answer, err = r.recall(request, got)
	default:
		answer, err = request.read(got)
	}
	tag = got.Header.Get("ETag")
	if err != nil {
		r.t.Errorf("%s: %v", request, err)
		return answer, tag
	}
	r.noteTag(request, answer, tag)
	r.note(client, request, answer, called)
	return answer, tag
}

// note adds to the history. What shows nothing and did nothing is left out. A request whose outcome is not known may
// take effect at any moment, or after the end, which is never.
func (r *Recorder) note(client int, request Request, answer Answer, called int64) {
	returned := r.now()
	if answer.Code == nothing || answer.Code == unknown && !request.writes() {
		return
	}
	if answer.Code == unknown {
		returned = math.MaxInt64
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations = append(r.operations, porcupine.Operation{
		ClientId: client, Input: request, Output: answer, Call: called, Return: returned,
	})
}

// noteTag notes what has an ETag: the same tag of the same path must always mean the same.
func (r *Recorder) noteTag(request Request, answer Answer, tag string) {
	if tag == "" || answer.Code != "" || request.Action == Count {
		return
	}
	if request.hasUsersTag(answer) {
		answer.More = false // the tag is the user's own, whether others follow or not
	}
	_, path, _ := request.line()
	r.mu.Lock()
	before, found := r.tagged[path+tag]
	r.tagged[path+tag] = answer
	r.mu.Unlock()
	if found && before.String() != answer.String() {
		r.t.Errorf("%s had the ETag %s for %s and for %s", path, tag, before, answer)
	}
}

// hasUsersTag reports whether the ETag of an answer is that of a user, which a change can be made to depend on.
func (q Request) hasUsersTag(a Answer) bool {
	return len(a.Users) == 1 && (q.Action != List || q.query() != "")
}

// recall returns what a list that has not changed is: what it was with the ETag that the client knows.
func (r *Recorder) recall(request Request, got program.Answer) (Answer, error) {
	_, path, _ := request.line()
	r.mu.Lock()
	answer, found := r.tagged[path+request.Known]
	r.mu.Unlock()
	if !found {
		return answer, errors.New("answered 304 for an ETag that it never had")
	}
	answer.More = answer.More || more(got)
	return answer, nil
}

// size returns how many requests were recorded, and of how many the outcome is not known: each may still be under way.
func (r *Recorder) size() (all, open int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, operation := range r.operations {
		if operation.Output.(Answer).Code == unknown {
			open++
		}
	}
	return len(r.operations), open
}
