package linearizability

import (
	"testing"

	"github.com/anishathalye/porcupine"

	"users-api/tests/program"
)

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
	type history []porcupine.Operation
	for name, test := range map[string]struct {
		lists history
		legal bool
	}{
		"both see the same order":              {history{list(10, 20, ada), list(30, 40, ada, alan)}, true},
		"at the same time":                     {history{list(10, 30, ada), list(20, 40, alan)}, false},
		"one after the other":                  {history{list(10, 20, ada), list(30, 40, alan)}, false},
		"a list that misses what was answered": {history{list(110, 120, ada)}, false},
		"a user who was never created":         {history{list(10, 20, bob)}, false},
	} {
		r := newRecorder(t, nil, false)
		r.operations = append(test.lists, create(ada), create(alan))
		if legal := porcupine.CheckOperations(r.model(), r.operations); legal != test.legal {
			t.Errorf("%s: it is legal: %v", name, legal)
		}
	}
}
