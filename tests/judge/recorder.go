// Package judge records what many clients asked and were answered, and lets porcupine judge whether there is an order
// of all requests, each at one moment between its call and its answer, in which every answer is right.
//
// A history is about a few emails, so that clients meet. At its end no request may be under way: stop the programs, or
// wait for them, then [Recorder.Judge] with the users that are stored: the next history begins with them.
package judge

import (
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"

	"users-api/tests/program"
)

// Recorder records a history.
type Recorder struct {
	before  state
	started time.Time
	fails   bool // something does: outcomes may stay unknown

	mu         sync.Mutex
	operations []porcupine.Operation
	tagged     map[string]Answer       // what each path showed with an ETag
	users      map[string]program.User // who had an ETag
	wrong      []string                // answers that are wrong in any history
}

// New returns a recorder for a history that begins with these users. Fails says that outcomes may stay unknown.
func New(before []program.User, fails bool) *Recorder {
	r := &Recorder{fails: fails, started: time.Now(), tagged: map[string]Answer{}, users: map[string]program.User{}}
	for _, user := range before {
		if !r.before.add(user) {
			panic(fmt.Sprintf("%v is not one of the emails of histories", user))
		}
	}
	return r
}

// now is the time of the clock that cannot jump.
func (r *Recorder) now() int64 { return int64(time.Since(r.started)) }

// Ask sends a request, records it, and returns its answer and its ETag.
func (r *Recorder) Ask(client int, p *program.Program, request Request) (Answer, string) {
	called := r.now()
	got, err := request.send(p)
	answer := Answer{Code: unknown}
	switch {
	case isRefusedConnection(err):
		answer.Code = nothing
	case err == nil && got.Status == 304:
		answer, err = r.recall(request, got)
	case err == nil:
		answer, err = request.read(got)
	default:
		err = nil // the connection broke, or nothing came in time
	}
	tag := got.Header.Get("ETag")
	if err != nil && !isRefusedConnection(err) {
		r.complain("%s: %v", request, err)
		return answer, tag
	}
	r.noteTag(request, answer, tag)
	r.note(client, request, answer, called)
	return answer, tag
}

// Do records what another program did, which says what that was. It is left out if it has an error: nothing was done.
func (r *Recorder) Do(client int, do func() (Request, Answer, error)) {
	called := r.now()
	if request, answer, err := do(); err == nil {
		r.note(client, request, answer, called)
	}
}

// isRefusedConnection reports whether no request can have been sent.
func isRefusedConnection(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial" && errors.Is(err, syscall.ECONNREFUSED)
}

func (r *Recorder) complain(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, values...))
}

// note adds to the history. What shows nothing and did nothing is left out. A request whose outcome is not known may take
// effect at any moment, or after the end, which is never.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.hasUsersTag(answer) {
		r.users[tag] = answer.Users[0]
		answer.More = false // the tag is the user's own, whether others follow or not
	}
	_, path, _ := request.line()
	if before, found := r.tagged[path+tag]; found && before.String() != answer.String() {
		r.wrong = append(r.wrong, fmt.Sprintf("%s had the ETag %s for %s and for %s", path, tag, before, answer))
	}
	r.tagged[path+tag] = answer
}

// hasUsersTag reports whether the ETag of an answer is that of a user, which a change can be made to depend on.
func (q Request) hasUsersTag(a Answer) bool { return len(a.Users) == 1 && q.Action != List }

// recall returns what a list that has not changed is: what it was with the ETag that the client knows.
func (r *Recorder) recall(request Request, got program.Answer) (Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, path, _ := request.line()
	answer, found := r.tagged[path+request.Known]
	if !found {
		return answer, errUnasked
	}
	answer.More = answer.More || more(got)
	return answer, nil
}

var errUnasked = errors.New("answered 304 for an ETag that it never had")

// Size returns how many requests were recorded.
func (r *Recorder) Size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.operations)
}

// Unknown returns how many requests have an outcome that is not known: each may still be under way.
func (r *Recorder) Unknown() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, operation := range r.operations {
		if operation.Output.(Answer).Code == unknown {
			n++
		}
	}
	return n
}
