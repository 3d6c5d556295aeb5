package compatibility

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

func TestAChangeThatTheTableRefusesFailsAloneAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for _, rule := range changeRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			other := program.OpenOther(t, p.DatabasePath())
			other.Fill(20)
			other.Do(append([]string{"CREATE TABLE trace (what text)"}, rule.rules...)...)
			answers := program.AtOnce(t, p, other, 20, func(i int) (string, string) {
				name := map[bool]string{true: "bad", false: "good"}[i == 7 || i == 13]
				return fmt.Sprintf("PATCH /api/users/%d", i+1), program.Body(name, fmt.Sprintf("new%d@example.org", i+1))
			})
			for i, user := range p.List(t) {
				want := program.User{ID: int64(i + 1), Name: "good", Email: fmt.Sprintf("new%d@example.org", i+1)}
				if i == 7 || i == 13 {
					want.Name, want.Email = fmt.Sprint("User ", i+1), fmt.Sprintf("user%d@example.org", i+1)
				}
				if want.CreatedAt = user.CreatedAt; user != want {
					t.Errorf("the table has %v, want %v", user, want)
				}
			}
			if bad := answers[13]; program.Count(answers, 200) != 18 || bad.Status != 500 || !program.Matches(bad.Body, rule.error()) {
				t.Errorf("%d were changed, and the bad one is answered %d %s", program.Count(answers, 200), bad.Status, bad.Body)
			}
		})
	}
}

func TestConflictsAmongManyWritesFailAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(10)
	answers := program.AtOnce(t, p, other, 40, func(i int) (string, string) {
		email := fmt.Sprintf("new%d@example.org", i)
		if i%10 == 3 {
			email = "user10@example.org" // which is the tenth user's
		}
		if i%2 == 0 {
			return "POST /api/users", program.Body("n", email)
		}
		return fmt.Sprintf("PATCH /api/users/%d", i%9+1), fmt.Sprintf(`{"email":"%s"}`, email)
	})
	for i, answer := range answers {
		want := 200
		switch {
		case i%10 == 3:
			want = 409
		case i%2 == 0:
			want = 201
		}
		answer.To(fmt.Sprint("request ", i)).Expect(t, want, "…")
	}
	if users := p.List(t); len(users) != 30 {
		t.Errorf("%d users are listed", len(users))
	}
}

func TestAChangeOfAnyUserInAnyTableIsShownAsItIsStored(t *testing.T) {
	t.Parallel()
	for name, p := range oddPrograms(t) {
		for id := range program.RawUsers(t, p.Do(t, "GET", "/api/users", "")) {
			path := "/api/users/" + id
			before := p.Do(t, "GET", path, "")
			unchanged := p.Do(t, "PATCH", path, before.Body, "If-Match: "+before.Header.Get("ETag"))
			empty := before.User(t).Name == "" || before.User(t).Email == "" // which a body cannot say
			if !empty && (unchanged.Status != 200 || unchanged.Body != before.Body) {
				t.Errorf("%s: %s is answered %d %s and was %s", name, id, unchanged.Status, unchanged.Body, before.Body)
			}
			after := p.Do(t, "PATCH", path, `{"name":"new"}`, "If-Match: "+program.ETag(t, p, id))
			get := p.Do(t, "GET", path, "")
			listed := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))[id]
			if after.Status != 200 || after.Body != get.Body || after.Body != listed || after.User(t).Name != "new" {
				t.Errorf("%s: %s is answered %d %s and shown as %s and %s", name, id, after.Status, after.Body, get.Body, listed)
			}
		}
	}
}

// What a trigger makes of a change is what was stored.
func TestAChangeIsAnsweredWithWhatATriggerMadeOfIt(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	program.OpenOther(t, p.DatabasePath()).Do(upperEmails)
	answer := p.Do(t, "PATCH", "/api/users/1", `{"name":"B"}`)
	get := p.Do(t, "GET", "/api/users/1", "")
	if answer.Body != get.Body || answer.User(t).Email != "ADA@EXAMPLE.ORG" {
		t.Errorf("answered %s and shown as %s", answer.Body, get.Body)
	}
	program.ExpectHeader(t, answer, "ETag", get.Header.Get("ETag"))
}
