//go:build containers

package containers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"
)

// api is the service under test, over HTTP.
type api struct {
	t    *testing.T
	base string
}

var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
	MaxIdleConnsPerHost:   32,
	ExpectContinueTimeout: 20 * time.Second,
}}

// ask returns the status and the body of an answer; status 0 when there was none.
func (a api) ask(method, path, body string) (int, string) {
	request, err := http.NewRequest(method, a.base+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

// create asks for a user with that email, and reports whether the answer was 201.
func (a api) create(email string) bool {
	status, _ := a.ask(http.MethodPost, "/api/users", fmt.Sprintf(`{"name":"Ada","email":%q}`, email))
	return status == http.StatusCreated
}

// mustCreate is create where the test needs the user.
func (a api) mustCreate(email string) {
	a.t.Helper()
	if !a.create(email) {
		a.t.Fatal("the service did not create ", email)
	}
}

// emails returns the email of every user that the service lists.
func (a api) emails() map[string]bool {
	a.t.Helper()
	status, body := a.ask(http.MethodGet, "/api/users", "")
	var users []struct{ Email string }
	if err := json.Unmarshal([]byte(body), &users); status != http.StatusOK || err != nil {
		a.t.Fatalf("the list answered %d and %q: %v", status, body, err)
	}
	emails := map[string]bool{}
	for _, user := range users {
		emails[user.Email] = true
	}
	return emails
}

// mustHave fails the test when the service does not list each of these emails.
func (a api) mustHave(emails []string) {
	a.t.Helper()
	listed := a.emails()
	for _, email := range emails {
		if !listed[email] {
			a.t.Errorf("%s was answered 201 and is lost", email)
		}
	}
}

// createSlowly returns when the service has begun to read a request to create a user, and before it has all of it.
// The request ends with finish, and then status has the answer's, or 0.
func (a api) createSlowly(email string) (finish func(), status <-chan int) {
	a.t.Helper()
	body, rest := io.Pipe()
	reading, answered := make(chan struct{}), make(chan int, 1)
	ctx := httptrace.WithClientTrace(a.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+"/api/users", body)
	if err != nil {
		a.t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue") // the service says so when it begins to read the body
	go func() {
		answer, err := client.Do(request)
		if err != nil {
			answered <- 0
			return
		}
		answered <- answer.StatusCode
		_ = answer.Body.Close()
	}()
	select {
	case <-reading:
	case <-time.After(10 * time.Second):
		a.t.Fatal("the service did not begin to read")
	}
	return func() {
		_, _ = fmt.Fprintf(rest, `{"name":"Ada","email":%q}`, email)
		_ = rest.Close()
	}, answered
}

// createWith lets clients create users side by side, each until next has no more emails for it. It returns at once;
// the function it returns waits for the clients and gives the emails that were answered 201.
func (a api) createWith(clients int, next func() (email string, more bool)) (created func() []string) {
	var all sync.WaitGroup
	var lock sync.Mutex
	var emails []string
	for range clients {
		all.Go(func() {
			for email, more := next(); more; email, more = next() {
				if a.create(email) {
					lock.Lock()
					emails = append(emails, email)
					lock.Unlock()
				}
			}
		})
	}
	return func() []string {
		all.Wait()
		return emails
	}
}
