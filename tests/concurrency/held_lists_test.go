package concurrency

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// Clients ask for lists and do not read them, while users come, change and go. Each list is that of the moment in which
// it was asked for. One that is too large to be kept is read while it is sent: it has those who stay, once.
func TestListsAreRightHoweverLateTheyAreRead(t *testing.T) {
	t.Parallel()
	for setting, isKept := range map[string]bool{"LIST_MEMORY_MIB=256": true, "LIST_MEMORY_MIB=1": false} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, setting)
			program.OpenOther(t, p.DatabasePath()).Fill(80_000)
			var late [6]*program.Conn
			var then [len(late)]program.Answer
			for i := range late {
				then[i] = p.Do(t, "GET", "/api/users", "")
				late[i] = p.Dial(t)
				late[i].Buffer(64 << 10) // with 4 MiB that the sender's system takes, less than a list
				late[i].Send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
				late[i].Begin()
				p.Change(t, 79_000+int64(i), `{"name":"changed"}`)
				p.Delete(t, 70_000+1000*int64(i))
				p.Create(t, "n", fmt.Sprint("created ", i))
			}
			for i, conn := range late {
				got := conn.Answer()
				if isKept && got.Body != then[i].Body || !isKept && !hasThoseWhoStay(got.Users(t)) {
					t.Errorf("list %d, which has %d bytes, is not right", i, len(got.Body))
				}
			}
		})
	}
}

// hasThoseWhoStay reports whether nobody is listed twice, and everyone whom the test does not delete is listed.
func hasThoseWhoStay(users []program.User) bool {
	listed := map[int64]bool{}
	for _, user := range users {
		if listed[user.ID] {
			return false
		}
		listed[user.ID] = true
	}
	for id := int64(1); id <= 80_000; id++ {
		if !listed[id] && (id < 70_000 || id%1000 != 0) {
			return false
		}
	}
	return true
}
