package compatibility

import (
	"fmt"
	"strconv"
	"testing"

	"users-api/tests/program"
)

func TestTheIDThatIsAnsweredIsTheOneThatIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range idColumns {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, other := program.ServeFile(t, fmt.Sprintf(usersTable, c.column, c.options))
			var ids []string
			for i := range 5 {
				p.List(t) // so that the next list could be made from this one
				answer := p.Do(t, "POST", "/api/users", program.Body("n", fmt.Sprint(i)))
				if !c.gives {
					expectNothingStored(t, answer, other)
					continue
				}
				id := strconv.FormatInt(answer.User(t).ID, 10)
				ids = append(ids, id)
				if stored := other.Ask(fmt.Sprintf("SELECT id FROM users WHERE email = '%d'", i)); stored != id {
					t.Errorf("the answer has the id %s and the table %s", id, stored)
				}
			}
			expectIDs(t, p.List(t), ids)
		})
	}
}

func expectNothingStored(t *testing.T, answer program.Answer, other *program.Other) {
	t.Helper()
	answer.Expect(t, 500, `{"error":"…"}`)
	if stored := other.Ask("SELECT count(*) FROM users"); stored != "0" {
		t.Errorf("%s users without an id are stored", stored)
	}
}

// expectIDs compares a list with the ids that it must have, in any order.
func expectIDs(t *testing.T, users []program.User, ids []string) {
	t.Helper()
	listed := map[string]bool{}
	for _, user := range users {
		listed[strconv.FormatInt(user.ID, 10)] = true
	}
	if len(users) != len(ids) {
		t.Errorf("%d users are listed and %d are stored", len(users), len(ids))
	}
	for _, id := range ids {
		if !listed[id] {
			t.Errorf("%s is stored and not listed", id)
		}
	}
}
