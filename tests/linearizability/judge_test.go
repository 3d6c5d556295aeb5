package linearizability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"users-api/tests/program"
)

// How long porcupine may take for a history, and for each part of one that is illegal.
const (
	judgeTime  = 2 * time.Minute
	shrinkTime = 10 * time.Second
)

func (r *Recorder) check(operations []porcupine.Operation, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return r.before },
		Step: func(before, input, output any) (bool, any) {
			after, right := step(before.(state), input.(Request), output.(Answer))
			return right, after
		},
		Hash: func(s any) uint64 { return s.(state).hash() },
	}, operations, limit)
}

// Judge ends the history with the users that are stored, when no request is under way any more, and fails the test if
// there is no order in which every answer is right.
func (r *Recorder) Judge(t testing.TB, stored []program.User) {
	t.Helper()
	r.note(0, Request{Action: Settled}, Answer{Users: stored}, r.now())
	for _, text := range r.wrong {
		t.Error(text)
	}
	r.compareIDs(t)
	r.learnIDs()
	switch r.check(r.operations, judgeTime) {
	case porcupine.Unknown:
		t.Errorf("the history of %d requests could not be judged in %s", len(r.operations), judgeTime)
	case porcupine.Illegal:
		t.Errorf("no order of these requests makes each answer right. It begins with %s\n%s",
			show(r.before.users[:]), describe(r.shrink(r.prefix())))
	}
}

// compareIDs fails the test if an id was given twice.
func (r *Recorder) compareIDs(t testing.TB) {
	t.Helper()
	given := map[int64]Request{}
	for _, operation := range r.operations {
		request, answer := operation.Input.(Request), operation.Output.(Answer)
		if request.Action == Create && answer.Code == "" {
			if other, found := given[answer.Users[0].ID]; found {
				t.Errorf("the id %d was given to %s and to %s", answer.Users[0].ID, other.Email, request.Email)
			}
			given[answer.Users[0].ID] = request
		}
	}
}

// learnIDs tells writes whose answers have no ids which ids their users got: anyone who was shown a user with a name that
// only one request has given was told.
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

func (r *Recorder) isIllegal(operations []porcupine.Operation) bool {
	return r.check(operations, shrinkTime) == porcupine.Illegal
}

// prefix returns the shortest beginning of the history that is illegal.
func (r *Recorder) prefix() []porcupine.Operation {
	ordered := slices.Clone(r.operations)
	slices.SortFunc(ordered, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	legal, illegal := 0, len(ordered)
	for illegal-legal > 1 {
		if middle := (legal + illegal) / 2; r.isIllegal(until(ordered, middle)) {
			illegal = middle
		} else {
			legal = middle
		}
	}
	return until(ordered, illegal)
}

// until returns a history when only the first n requests were answered: the outcome of the others is not known.
func until(ordered []porcupine.Operation, n int) []porcupine.Operation {
	history, last := slices.Clone(ordered[:n]), ordered[n-1].Return
	for _, open := range ordered[n:] {
		if open.Call <= last && open.Input.(Request).writes() {
			open.Return, open.Output = math.MaxInt64, Answer{Code: unknown}
			history = append(history, open)
		}
	}
	if !slices.ContainsFunc(history, func(o porcupine.Operation) bool { return o.Input.(Request).Action == Settled }) {
		after := porcupine.Operation{Input: Request{Action: end}, Output: Answer{}, Call: last + 1, Return: last + 1}
		history = append(history, after)
	}
	return history
}

// shrink leaves out what a history is illegal without: reads, refusals, and writes whose outcome is not known.
func (r *Recorder) shrink(history []porcupine.Operation) []porcupine.Operation {
	deadline := time.Now().Add(2 * shrinkTime)
	for i := len(history) - 1; i >= 0 && time.Now().Before(deadline); i-- {
		answer, request := history[i].Output.(Answer), history[i].Input.(Request)
		if request.writes() && answer.Code == "" || request.Action == Settled || request.Action == end {
			continue
		}
		if without := slices.Delete(slices.Clone(history), i, i+1); r.isIllegal(without) {
			history = without
		}
	}
	return history
}

// describe prints the last requests of a history, in the order of their calls.
func describe(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var text strings.Builder
	for _, operation := range history[max(0, len(history)-30):] {
		until := "never known"
		if operation.Return != math.MaxInt64 {
			until = time.Duration(operation.Return).Round(time.Microsecond).String()
		}
		fmt.Fprintf(&text, "client %d, %s to %s: %v → %v\n", operation.ClientId,
			time.Duration(operation.Call).Round(time.Microsecond), until, operation.Input, operation.Output)
	}
	return text.String()
}
