package linearizability

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"users-api/tests/program"
)

// judgeTime is how long porcupine may take for a history.
const judgeTime = 2 * time.Minute

func (r *Recorder) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return r.before },
		Step: func(before, input, output any) (bool, any) {
			after, right := step(before.(state), input.(Request), output.(Answer))
			return right, after
		},
		Hash: func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
	}
}

var seed = maphash.MakeSeed()

// Judge ends the history with the users that are stored, when no request is under way any more, and fails the test if
// there is no order in which every answer is right.
func (r *Recorder) Judge(stored []program.User) {
	r.t.Helper()
	r.note(0, Request{Action: Settled}, Answer{Users: stored}, r.now())
	r.learnIDs()
	switch porcupine.CheckOperationsTimeout(r.model(), r.operations, judgeTime) {
	case porcupine.Unknown:
		r.t.Errorf("the history of %d requests could not be judged in %s", len(r.operations), judgeTime)
	case porcupine.Illegal:
		r.t.Error(r.explain())
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

// explain describes how far porcupine came: the end of the longest order in which each answer is right, the users after
// it, and the requests that were under way then, of which none was answered rightly.
func (r *Recorder) explain() string {
	const most = 20
	_, found := porcupine.CheckOperationsVerbose(r.model(), r.operations, judgeTime)
	longest := slices.MaxFunc(found.PartialLinearizationsOperations()[0], func(a, b []porcupine.Operation) int {
		return cmp.Compare(len(a), len(b))
	})
	users, left, text := r.before, slices.Clone(r.operations), ""
	for i, one := range longest {
		users, _ = step(users, one.Input.(Request), one.Output.(Answer))
		left = slices.DeleteFunc(left, func(other porcupine.Operation) bool { return describe(other) == describe(one) })
		if i >= len(longest)-most {
			text += describe(one) + "\n"
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	text = fmt.Sprintf("no order of %d requests makes each answer right. After %d of them, which end with\n%s"+
		"the users are %v. None of these is right then:\n", len(r.operations), len(longest), text, users.users)
	for _, one := range left[:min(most, len(left))] {
		if one.Call <= left[0].Return {
			text += describe(one) + "\n"
		}
	}
	return text
}

func describe(one porcupine.Operation) string {
	until := "never known"
	if one.Return != math.MaxInt64 {
		until = time.Duration(one.Return).String()
	}
	from := time.Duration(one.Call)
	return fmt.Sprintf("client %d, %s to %s: %v → %v", one.ClientId, from, until, one.Input, one.Output)
}
