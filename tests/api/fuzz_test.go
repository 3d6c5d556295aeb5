package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"users-api/tests/program"
)

// FuzzBody sends any bytes as the body of a creation. No body may cause a 500, and what is stored is what was answered:
// nothing after a refusal, and the same user after a 201.
func FuzzBody(f *testing.F) {
	for _, s := range scenarios {
		if s.request == post && len(s.body) < 1000 {
			f.Add([]byte(s.body))
		}
	}
	p := program.Serve(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answer := p.Do(t, "POST", "/api/users", string(body))
		users := p.List(t)
		switch answer.Status {
		case 201:
			user := answer.User(t)
			if len(users) != 1 || users[0].Name != user.Name || users[0].Email != user.Email || users[0].ID != user.ID {
				t.Errorf("answered %v and stored %v", user, users)
			}
			if user.Name == "" || user.Email == "" || !json.Valid(bytes.TrimPrefix(body, []byte("\ufeff"))) {
				t.Errorf("%q was accepted", body)
			}
			p.Delete(t, user.ID)
		case 400, 413:
			if len(users) != 0 {
				t.Errorf("%q was refused and stored: %v", body, users)
			}
			program.Forbid(t, answer.Body, "json:", "EOF", "models.", "database.Users", "unmarshal")
		case 500:
			answer.Expect(t, nulStored.status, nulStored.answer) // what storage says to a NUL byte, where it cannot store it
		default:
			t.Errorf("%q was answered %d %s", body, answer.Status, answer.Body)
		}
	})
}

// FuzzID sends any text as the id of a user. Only the user with exactly this id is shown, changed and deleted.
func FuzzID(f *testing.F) {
	for _, id := range []string{
		"1", "2", "3", "-3", "9223372036854775807", "01", "+1", "1.0", "1e0", "0x1", " 1", "1 ", "1;2", "1 OR 1=1",
		"%31", "١", "1\x00", "../1", "", "0", "-0", "-1", "%", "*", "9223372036854775808", "18446744073709551617",
		"@", "1@", "@\xff", "@\x00", "@/1",
	} {
		f.Add(id)
	}
	p := program.Serve(f)
	ids := []string{"-3", "1", "2", "9223372036854775807"}
	other := program.OpenOther(f, p.DatabasePath())
	f.Fuzz(func(t *testing.T, id string) {
		for _, existing := range ids {
			other.On(t).Do(fmt.Sprintf("INSERT INTO users (id, name, email) VALUES (%[1]s, 'n', '%[1]s') ON CONFLICT DO NOTHING",
				existing))
		}
		for _, method := range []string{"GET", "PATCH", "PUT", "DELETE"} {
			want := 404
			if slices.Contains(ids, id) {
				want = map[bool]int{true: 204, false: 200}[method == "DELETE"]
			}
			answer := p.Do(t, method, "/api/users/"+url.PathEscape(id), program.Body("n", id), "If-Match: *")
			if isEmail := strings.Contains(id, "@"); isEmail && method == "PUT" && slices.Contains([]int{400, 412}, answer.Status) {
				want = answer.Status // nobody has it, and If-Match only replaces; or it is no text
			}
			if answer.Status != want {
				t.Errorf("%s of %q is answered %d %s, want %d", method, id, answer.Status, answer.Body, want)
			}
		}
		left := map[string]bool{}
		for _, user := range p.List(t) {
			left[strconv.FormatInt(user.ID, 10)] = true
		}
		for _, existing := range ids {
			if left[existing] == (existing == id) {
				t.Errorf("after DELETE of %q these are left: %v", id, left)
			}
		}
	})
}
