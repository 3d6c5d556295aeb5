package program

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// User is what every user has; fields that were added are left out.
type User struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
}

// Answer is an HTTP answer with its whole body, but for the fields that [WithoutOwn] takes out.
type Answer struct {
	Status int
	Header http.Header
	Body   string

	request string // its method and path
	bytes   int    // of the body as it came
}

// Expect fails the test unless an answer has a status, and a body that [Matches] this one.
func (a Answer) Expect(t testing.TB, status int, body string) {
	t.Helper()
	if a.Status != status || !Matches(a.Body, body) {
		t.Errorf("%s is answered %d %.1000s, want %d %.1000s", a.request, a.Status, a.Body, status, body)
	}
}

// readAnswer reads the body of a response.
func readAnswer(response *http.Response) (Answer, error) {
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	body, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(body), "the request", len(body)}, err
}

// To names the request of an answer, where messages must say more of it than its method and path.
func (a Answer) To(request string) Answer {
	a.request = request
	return a
}

func (a Answer) withoutOwn() Answer {
	a.Body = WithoutOwn(a.Body)
	return a
}

// client keeps enough connections open for the largest test.
var client = &http.Client{
	Timeout:   Patience,
	Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
}

// Send sends a request with header lines such as "Origin: https://other.example". It fails only when the connection
// does: the program is not there, or broke it off.
func (p *Program) Send(method, path, body string, header ...string) (Answer, error) {
	request, err := http.NewRequest(method, p.URL+path, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	answer, err := readAnswer(response)
	if err == nil {
		p.differences.note(request, answer)
	}
	return answer.withoutOwn().To(method + " " + path), err
}

// Do is Send for tests that always expect an answer.
func (p *Program) Do(t testing.TB, method, path, body string, header ...string) Answer {
	t.Helper()
	answer, err := p.Send(method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", method, path, err, tail(p.Log()))
	}
	return answer
}

// Ask is Do with a request such as "GET /api/users", behind which lines of its header may follow.
func (p *Program) Ask(t testing.TB, request, body string, header ...string) Answer {
	t.Helper()
	lines := strings.Split(request, "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	return p.Do(t, method, path, body, append(lines[1:], header...)...)
}

// Begin is Ask beside the test.
func (p *Program) Begin(t testing.TB, request, body string, header ...string) <-chan Answer {
	answered := make(chan Answer, 1)
	go func() { answered <- p.Ask(t, request, body, header...) }()
	return answered
}

// Next returns the query of the page that follows this one, by its Link, or "".
func (a Answer) Next() string {
	query, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	return query
}

// Body is the request body that creates a user.
func Body(name, email string) string {
	body, err := json.Marshal(map[string]string{"name": name, "email": email})
	if err != nil {
		panic(err) // text always marshals
	}
	return string(body)
}

func (p *Program) Create(t testing.TB, name, email string) int64 {
	t.Helper()
	return p.Do(t, http.MethodPost, "/api/users", Body(name, email)).User(t).ID
}

func (p *Program) Change(t testing.TB, id int64, fields string) {
	t.Helper()
	p.Do(t, http.MethodPatch, fmt.Sprint("/api/users/", id), fields).Expect(t, http.StatusOK, "…")
}

func (p *Program) Delete(t testing.TB, id int64) {
	t.Helper()
	p.Do(t, http.MethodDelete, fmt.Sprint("/api/users/", id), "").Expect(t, http.StatusNoContent, "")
}

func (p *Program) List(t testing.TB) []User {
	t.Helper()
	return p.Do(t, http.MethodGet, "/api/users", "").Users(t)
}

// Feed returns what the feed of changes answers once it [Matches] what is wanted: on PostgreSQL, transactions of others may
// hold it back.
func (p *Program) Feed(t testing.TB, query, want string, header ...string) (body string) {
	t.Helper()
	WaitFor(t, "the feed has "+want, func() bool {
		body = p.Do(t, http.MethodGet, "/api/changes"+query, "", header...).Body
		return Matches(body, want)
	})
	return body
}

// ExpectUsers fails the test unless the program lists users with exactly these names, and returns them.
func (p *Program) ExpectUsers(t testing.TB, names ...string) []User {
	t.Helper()
	users, found := p.List(t), []string{}
	for _, user := range users {
		found = append(found, user.Name)
	}
	if got, want := fmt.Sprintf("%q", found), fmt.Sprintf("%q", names); got != want {
		t.Errorf("%d users are %.500s, want %.500s", len(users), got, want)
	}
	return users
}

// User is ParseUser for tests that expect a user.
func (a Answer) User(t testing.TB) User {
	t.Helper()
	user, err := a.ParseUser()
	Must(t, err)
	return user
}

// Users is ParseUsers for tests that expect a list.
func (a Answer) Users(t testing.TB) []User {
	t.Helper()
	users, err := a.ParseUsers()
	Must(t, err)
	return users
}

// ParseUser reads the answer to a creation, to a change, or of one user.
func (a Answer) ParseUser() (User, error) { return parse[User](a) }

// ParseUsers reads a list.
func (a Answer) ParseUsers() ([]User, error) { return parse[[]User](a) }

func parse[T any](a Answer) (parsed T, err error) {
	if a.Status >= http.StatusBadRequest {
		return parsed, fmt.Errorf("%s is answered %d %.200s", a.request, a.Status, a.Body)
	}
	if err = json.Unmarshal([]byte(a.Body), &parsed); err != nil {
		err = fmt.Errorf("%s is not answered with the JSON that was expected: %w in %.200s", a.request, err, a.Body)
	}
	return parsed, err
}

func ETag(t *testing.T, p *Program, id any) string {
	t.Helper()
	return p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Header.Get("ETag")
}

// RawUsers returns the bytes of each user in a list, by its id.
func RawUsers(t *testing.T, list Answer) map[string]string {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(list.Body), &all); err != nil || list.Status != 200 {
		t.Fatalf("%d %v: %.300s", list.Status, err, list.Body)
	}
	users := map[string]string{}
	for _, user := range all {
		id, _, _ := strings.Cut(strings.TrimPrefix(string(user), `{"id":`), ",")
		users[id] = string(user)
	}
	return users
}
