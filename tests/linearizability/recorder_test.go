package linearizability

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
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

	mu         sync.Mutex
	operations []porcupine.Operation
}

// newRecorder returns one for a history that begins with these users.
func newRecorder(t testing.TB, before []program.User) *Recorder {
	t.Helper()
	r := &Recorder{t: t, started: time.Now()}
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
		for at, row := range request.Rows {
			request.Rows[at].ID = ids[key{row.Name, row.Email}]
		}
		r.operations[i].Input = request
	}
}

// expectRecorded fails the test unless an entry of a user's history is there exactly if its write is: what the entries say, from
// the newest to the creation, leads from the user in the list, or from nobody, back to nobody.
func expectRecorded(t *testing.T, p *program.Program) {
	t.Helper()
	last := p.Create(t, "n", "behind all others")
	p.Delete(t, last)
	users := map[int64]map[string]any{}
	for _, user := range p.List(t) {
		users[user.ID] = map[string]any{"name": user.Name, "email": user.Email}
	}
	for id := int64(1); id <= last; id++ {
		answer, user := p.Do(t, "GET", fmt.Sprintf("/api/users/%d/changes?limit=1000", id), ""), users[id]
		if answer.Status == 404 && user == nil { // nobody ever had this id
			continue
		}
		var history struct {
			Changes []struct {
				Op            string
				Before, After map[string]any
			}
		}
		program.Must(t, json.Unmarshal([]byte(answer.Body), &history))
		for _, each := range history.Changes {
			if user == nil != (each.Op == "deleted") || !contains(user, each.After) {
				t.Fatalf("the user %d was %v after the entry %v: %s", id, user, each, answer.Body)
			}
			switch each.Op {
			case "created":
				user = nil
			case "deleted":
				user = map[string]any{"name": each.Before["name"], "email": each.Before["email"]}
			default:
				maps.Copy(user, each.Before)
			}
		}
		if isWhole := answer.Header.Get("Link") == ""; isWhole && user != nil {
			t.Fatalf("the first entry of the user %d is no creation: %s", id, answer.Body)
		}
	}
}

func contains(user, values map[string]any) bool {
	for field, value := range values {
		if user[field] != value {
			return false
		}
	}
	return true
}
