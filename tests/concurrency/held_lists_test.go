package concurrency

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Clients ask for lists and do not read them, while users come, change and go. Each list is that of the moment in which it was
// asked for. One that is too large to be kept is read while it is sent: it has those who stay, once.
func TestListsAreRightHoweverLateTheyAreRead(t *testing.T) {
	t.Parallel()
	for setting, isKept := range map[string]bool{"LIST_MEMORY_MIB=32": true, "LIST_MEMORY_MIB=1": false} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, setting)
			var late []*program.Conn
			var lists []program.Answer
			for i := range 12 {
				id := p.Create(t, strings.Repeat("n", 300_000*(1+i%2)), fmt.Sprint(i))
				if i >= 4 {
					p.Delete(t, id-3)
					p.Change(t, id-1, fmt.Sprintf(`{"email":"changed %d"}`, i))
				}
				lists = append(lists, p.Do(t, "GET", "/api/users", ""))
				if i >= 6 {
					late = append(late, p.Dial(t))
					late[i-6].Buffer(64 << 10) // much smaller, and reading it would take minutes
					late[i-6].Send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
					late[i-6].Begin()
				}
			}
			end := p.List(t)
			for i, conn := range late {
				got, then := conn.Answer(), lists[i+6]
				if isKept {
					got.Expect(t, 200, then.Body)
				} else if err := compare(got.Users(t), then.Users(t), end); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// compare compares a list with those of the moments before and after it was read.
func compare(list, before, after []program.User) error {
	index := func(users []program.User, id int64) int {
		return slices.IndexFunc(users, func(user program.User) bool { return user.ID == id })
	}
	for i, user := range list {
		if index(list, user.ID) != i {
			return fmt.Errorf("%d is listed twice", user.ID)
		}
	}
	for _, user := range before {
		if index(after, user.ID) >= 0 && index(list, user.ID) < 0 {
			return fmt.Errorf("%d is not listed", user.ID)
		}
	}
	return nil
}
