package concurrency

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

func TestADuplicateAmongAHundredFailsAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "user50@example.org")
	answers := program.AtOnce(t, p, program.OpenOther(t, p.DatabasePath()), 100, func(i int) (string, string) {
		return "POST /api/users", program.Body("n", fmt.Sprintf("user%d@example.org", i))
	})
	if program.Count(answers, 201) != 99 || answers[50].Status != 500 {
		t.Fatalf("%d were created, and the duplicate was answered %d", program.Count(answers, 201), answers[50].Status)
	}
	if answers[50].Body != program.DuplicateEmail {
		t.Errorf("the duplicate was answered %s", answers[50].Body)
	}
	program.ExpectStored(t, p, answers, 1)
}
