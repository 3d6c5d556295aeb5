package program

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Matches reports whether a text is the one wanted, in which "…" stands for any text.
func Matches(text, want string) bool {
	parts := strings.Split(want, "…")
	last := len(parts) - 1
	if last == 0 {
		return text == want
	}
	text, starts := strings.CutPrefix(text, parts[0])
	for _, part := range parts[1:last] {
		var found bool
		if _, text, found = strings.Cut(text, part); !found {
			return false
		}
	}
	return starts && strings.HasSuffix(text, parts[last])
}

// Must ends the test if there is an error, where a test only prepares what it is about.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Expect fails the test unless something is as it is wanted, as [Matches] says and as it is printed: 2 is "2".
func Expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if got, want := fmt.Sprint(got), fmt.Sprint(want); !Matches(got, want) {
		t.Errorf("%s: %.2000q, want %.2000q", what, got, want)
	}
}

// ExpectHeader compares a header of an answer; several lines of it are joined.
func ExpectHeader(t *testing.T, answer Answer, name, want string) {
	t.Helper()
	Expect(t, "the header "+name, strings.Join(answer.Header.Values(name), ", "), want)
}

// ExpectLength compares the header Content-Length of an answer with its body.
func ExpectLength(t *testing.T, answer Answer) {
	t.Helper()
	ExpectHeader(t, answer, "Content-Length", strconv.Itoa(answer.bytes))
}

// WaitFor waits for a condition that no event announces.
func WaitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// Forbid fails the test when a text contains something that it must not show.
func Forbid(t testing.TB, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in: %.500s", secret, text)
		}
	}
}

// ExpectRefusal waits until the program ends with exit code 1 and one line that says everything it must.
func ExpectRefusal(t *testing.T, p *Program, says ...string) {
	t.Helper()
	Expect(t, "the exit code", p.Wait(t), 1)
	Expect(t, "how many lines the log has", strings.Count(p.Log(), "\n"), 1)
	expectTexts(t, p.Log(), says)
	Forbid(t, p.Log(), "goroutine", "panic", "out of memory")
}

// expectTexts fails the test unless each of some texts is in another.
func expectTexts(t testing.TB, in string, texts []string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(in, text) {
			t.Errorf("%q is not in: %s", text, in)
		}
	}
}

// ExpectIntact fails the test unless the database at a path is whole.
func ExpectIntact(t testing.TB, path string) {
	t.Helper()
	Expect(t, "the integrity of "+path, OpenOther(t, path).Ask(intact), "ok")
}

// ErrorBody is the body of an error with this text.
func ErrorBody(text string) string { return `{"error":` + strconv.Quote(text) + `}` }

// listParameters are those of a list, after its fields. CONTRIBUTING.md, "Adding a parameter of a list", adds a name here.
var listParameters = []string{"q", "created_from", "created_to", "sort", "limit", "after", "order", "count"}

// UnknownParameter is the sentence about a parameter that a list does not take, or an export, which takes more.
func UnknownParameter(name, of string, more ...string) string {
	names := slices.Concat(listParameters, more)
	last := len(names) - 1
	return fmt.Sprintf(`Unknown parameter "%s": %s takes id, name…, %s and %s`, name, of, strings.Join(names[:last], ", "), names[last])
}

var timeShape = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)

// IsTime reports whether a text has the form of created_at.
func IsTime(text string) bool { return timeShape.MatchString(text) }
