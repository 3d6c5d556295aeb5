package linearizability

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"net"
	"os"
	"path/filepath"
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
}

// newRecorder returns one for a history that begins with these users. Fails says that outcomes may stay unknown.
func newRecorder(t testing.TB, before []program.User, fails bool) *Recorder {
	t.Helper()
	r := &Recorder{t: t, started: time.Now(), fails: fails}
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
	}
	answer, err = request.read(got)
	if err != nil {
		r.t.Errorf("%s: %v", request, err)
	} else {
		r.note(client, request, answer, called)
	}
	return answer, got.Header.Get("ETag")
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

// hasUsersTag reports whether the ETag of an answer is that of a user, which a change can be made to depend on.
func (q Request) hasUsersTag(a Answer) bool {
	return len(a.Users) == 1 && !a.More && (q.Action != List || q.query() != "")
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

// judgeTime is how long porcupine may take for a history.
const judgeTime = 2 * time.Minute

func (r *Recorder) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return r.before },
		Step: func(before, input, output any) (bool, any) {
			after, right := step(before.(state), input.(Request), output.(Answer))
			return right, after
		},
		Hash:              func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %+v", input, output) },
	}
}

var seed = maphash.MakeSeed()

// Judge ends the history with the users that are stored, when no request is under way any more, and fails the test if
// there is no order in which every answer is right.
func (r *Recorder) Judge(stored []program.User) {
	r.t.Helper()
	r.note(0, Request{Action: Settled}, Answer{Users: stored}, r.now())
	r.learnIDs()
	if result := porcupine.CheckOperationsTimeout(r.model(), r.operations, judgeTime); result != porcupine.Ok {
		_, found := porcupine.CheckOperationsVerbose(r.model(), r.operations, judgeTime)
		page := filepath.Join(os.TempDir(), fmt.Sprintf("history-%d.html", r.started.UnixNano()))
		err := porcupine.VisualizePath(r.model(), found, page)
		r.t.Errorf("the history of %d requests is %s: open %s in a browser, %v", len(r.operations), result, page, err)
	}
}

// learnIDs tells writes whose answers have no ids which ids their users got: anyone who was shown a user with a name
// that only one request has given was told.
func (r *Recorder) learnIDs() {
	type key struct{ name, email string }
	ids := map[key]int64{}
	for _, operation := range r.operations {
		for _, user := range operation.Output.(Answer).Users {
			ids[key{user.Name, user.Email}] = user.ID
		}
	}
	for i := range r.operations {
		request := r.operations[i].Input.(Request)
		if request.Action == Create && request.Name != sameName {
			request.ID = ids[key{request.Name, request.Email}]
		}
		for at, row := range request.File.Rows {
			request.File.Rows[at].ID = ids[key{row.Name, row.Email}]
		}
		r.operations[i].Input = request
	}
}

// Two users are created at the same time, and two lists show one of them each.
func TestReadsMustSeeTwoWritesInOneOrder(t *testing.T) {
	t.Parallel()
	ada := program.User{ID: 1, Name: "Ada", Email: emails[0]}
	bob := program.User{ID: 3, Name: "Bob", Email: emails[2]}
	alan := program.User{ID: 2, Name: "Alan", Email: emails[1]}
	create := func(user program.User) porcupine.Operation {
		request := Request{Action: Create, Name: user.Name, Email: user.Email}
		return porcupine.Operation{Input: request, Output: Answer{Users: []program.User{user}}, Call: 0, Return: 100}
	}
	list := func(call, ends int64, users ...program.User) porcupine.Operation {
		return porcupine.Operation{Input: Request{Action: List}, Output: Answer{Users: users}, Call: call, Return: ends}
	}
	for name, lists := range map[string][]porcupine.Operation{
		"both see the same order":              {list(10, 20, ada), list(30, 40, ada, alan)},
		"at the same time":                     {list(10, 30, ada), list(20, 40, alan)},
		"one after the other":                  {list(10, 20, ada), list(30, 40, alan)},
		"a list that misses what was answered": {list(110, 120, ada)},
		"a user who was never created":         {list(10, 20, bob)},
	} {
		r := newRecorder(t, nil, false)
		legal := porcupine.CheckOperations(r.model(), append(lists, create(ada), create(alan)))
		if want := name == "both see the same order"; legal != want {
			t.Errorf("%s: legal is %t, want %t", name, legal, want)
		}
	}
}
