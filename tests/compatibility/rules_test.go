package compatibility

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A rule is one that another program's table may have. It refuses to store a user with the name "bad", or to delete
// one, and the error says why. Many have left a trace in another table by then.
type rule struct {
	name, says string
	statements []string
}

func (r rule) error() string { return program.ErrorBody("…" + r.says + "…") }

// nameOf is the name that the request i of a batch sends.
func nameOf(i int) string {
	if i == 7 || i == 13 {
		return "bad"
	}
	return fmt.Sprint("n", i)
}

func TestAWriteThatTheTableRefusesFailsAloneAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for _, write := range []struct {
		request, event string
		status         int
	}{
		{"POST /api/users", "INSERT", 201}, {"PUT /api/users/newID@example.org", "INSERT", 201},
		{"PATCH /api/users/ID", "UPDATE", 200}, {"PUT /api/users/userID@example.org", "UPDATE", 200},
		{"DELETE /api/users/ID", "DELETE", 204}, {"DELETE /api/users/userID@example.org", "DELETE", 204},
	} {
		for _, r := range rulesFor(write.event) {
			t.Run(write.request+", "+r.name, func(t *testing.T) {
				t.Parallel()
				p := program.Serve(t)
				other := program.OpenOther(t, p.DatabasePath())
				other.Fill(20)
				if write.event == "DELETE" {
					other.Do("UPDATE users SET name = 'bad' WHERE id IN (8, 14)")
				}
				other.Do(append([]string{"CREATE TABLE trace (what text)"}, r.statements...)...)
				want := names(p.List(t))
				for i, answer := range atOnce(t, p, other, 20, func(i int) (line, body string) {
					line = strings.ReplaceAll(write.request, "ID", fmt.Sprint(i+1))
					return line, program.Body(nameOf(i), fmt.Sprintf("new%d@example.org", i+1))
				}) {
					answer = answer.To(write.request + " of " + nameOf(i))
					switch isBad := nameOf(i) == "bad"; {
					case isBad && answer.Status == 409 && r.name == uniqueNames && strings.HasPrefix(write.request, "PUT "):
						answer.Expect(t, 409, program.ErrorBody("name is already used by another user"))
						continue
					case isBad:
						answer.Expect(t, 500, r.error())
						continue
					}
					answer.Expect(t, write.status, "…")
					switch write.event {
					case "INSERT":
						want = append(want, nameOf(i))
					case "UPDATE":
						want[i] = nameOf(i)
					case "DELETE":
						want[i] = ""
					}
				}
				want = slices.DeleteFunc(want, func(name string) bool { return name == "" })
				got := names(p.List(t))
				slices.Sort(got)
				slices.Sort(want)
				program.Expect(t, "the names in the table", got, want)
				expectNoTrace(t, other)
			})
		}
	}
}

// atOnce sends n requests while another program holds the write lock, so that few commits take them all.
func atOnce(
	t *testing.T, p *program.Program, other *program.Other, n int, request func(i int) (line, body string),
) []program.Answer {
	t.Helper()
	answers, conns := make([]program.Answer, n), make([]*program.Conn, n)
	for i := range conns {
		conns[i] = p.Dial(t)
	}
	other.HoldWrites()
	for i, conn := range conns {
		line, body := request(i)
		conn.Send("%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	}
	p.Do(t, "GET", "/api/users", "") // is answered when they have arrived
	other.LetGo()
	for i, conn := range conns {
		answers[i] = conn.Answer()
		for strings.Contains(answers[i].Body, program.WritesHeld) { // on a busy machine the lock was held for too long
			line, body := request(i)
			answers[i] = p.Ask(t, line, body)
		}
	}
	return answers
}

func names(users []program.User) (names []string) {
	for _, user := range users {
		names = append(names, user.Name)
	}
	return names
}

func expectNoTrace(t *testing.T, other *program.Other) {
	t.Helper()
	program.Expect(t, "traces of refused writes in another table", other.Ask("SELECT count(*) FROM trace"), 0)
}

// A rule that ends the transaction ends the import with it: which row did is not known then.
func TestAnImportNamesTheRowThatTheTableRefusesAndStoresNothing(t *testing.T) {
	t.Parallel()
	for _, r := range rulesFor("INSERT") {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			other := program.OpenOther(t, p.DatabasePath())
			other.Do(append([]string{"CREATE TABLE trace (what text)"}, r.statements...)...)
			before := names(p.List(t))
			answer := p.Do(t, "POST", program.CSV, "name,email\nn7,imported\nbad,b\nn13,also\n")
			if answer.Status == 500 && r.name == endsTransaction {
				answer.Expect(t, 500, r.error())
			} else {
				answer.Expect(t, 422, `…"rows":[{"line":3,"error":"…`)
			}
			p.ExpectUsers(t, before...)
			expectNoTrace(t, other)
			p.Create(t, "n1", "afterwards")
		})
	}
}

const (
	endsTransaction = "a trigger that ends the transaction"
	uniqueNames     = "a uniqueness of names"
	ignored         = "not stored: the write had no effect, perhaps because of a trigger of the table users"
)

func TestAnImportThatATriggerIgnoresStoresNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		p.Create(t, name, name)
	}
	program.OpenOther(t, p.DatabasePath()).Do(ignoresWrites...)
	p.Do(t, "POST", program.CSV+"?on_conflict=update", "name,email\nKing,Ada\nTuring,Alan\n").Expect(t, 422,
		`{"error":"1 of 2 rows cannot be imported; nothing was stored","rows":[{"line":2,"error":"`+ignored+`"}]}`)
	const deletes = program.CSV + "?on_conflict=update&on_missing=delete&max_deletes=9"
	p.Do(t, "POST", deletes, "name,email\nAlan,Alan\n").Expect(t, 500, program.ErrorBody(ignored))
	p.ExpectUsers(t, "Ada", "Alan", "Grace")
}

// Creations and changes that wait together share a commit on SQLite, and every fifth wants an email that another user has.
func TestConflictsAmongManyWritesFailAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "CHANGES_KEEP=0")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(10)
	commits := func() float64 { return program.Scrape(t, p)["users_api_commit_writes_count"][""] }
	round := 0
	program.WaitFor(t, "32 writes are few commits", func() bool { // a busy machine may part them
		round++
		before := commits()
		for i, answer := range atOnce(t, p, other, 40, func(i int) (line, body string) {
			email := fmt.Sprintf("new%d-%d@example.org", round, i)
			if i%5 == 0 {
				email = "user10@example.org"
			}
			if i%2 == 0 {
				return "POST /api/users", program.Body("n", email)
			}
			return fmt.Sprintf("PATCH /api/users/%d", i%9+1), fmt.Sprintf(`{"email":"%s"}`, email)
		}) {
			want := []int{201, 200}[i%2]
			if i%5 == 0 {
				want = []int{500, 409}[i%2]
			}
			answer.To(fmt.Sprint("request ", i)).Expect(t, want, "…")
		}
		return commits()-before <= 10 || program.PostgreSQL
	})
	program.Expect(t, "the 10 users before and the new ones", len(p.List(t)), 10+16*round)
}
