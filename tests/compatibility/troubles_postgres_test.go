//go:build postgres

package compatibility

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// createAtOnce creates users with emails through each program, all at once. Of the creations of each email, so many must
// succeed, and the others fail.
func createAtOnce(p []*program.Program, succeed int, emails ...string) (wrong error) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	stored := map[string]int{}
	for _, email := range emails {
		for _, each := range p {
			wait.Go(func() {
				answer, err := each.Send("POST", "/api/users", program.Body("n", email))
				mu.Lock()
				defer mu.Unlock()
				if answer.Status == 201 {
					stored[email]++
				} else if err != nil || answer.Status < 500 {
					wrong = fmt.Errorf("the creation of %s is answered %d %s, %w", email, answer.Status, answer.Body, err)
				}
			})
		}
	}
	wait.Wait()
	for _, email := range emails {
		if stored[email] != succeed {
			wrong = fmt.Errorf("%d creations of %s succeed", stored[email], email)
		}
	}
	return wrong
}

var five = []string{"same0", "same1", "same2", "same3", "same4"}

func TestWhatTroublesOneCreationIsNoTroubleToOthers(t *testing.T) {
	t.Parallel()
	const ownTable = "CREATE TABLE users (" + ordinaryID + ", name text, email text UNIQUE, created_at timestamptz)"
	const count = "SELECT count(*)::text FROM users WHERE email LIKE 'other%'"
	for name, test := range map[string]struct {
		statements   []string // what another program does first
		clients      int      // 20 if it is 0
		each, rounds int      // how many users each of them creates at least, and how often the trouble comes
		trouble      func(p []*program.Program, round int) error
		query        string // selects how many users they created
	}{
		"two processes are sent the same five emails at once, and again": {
			statements: []string{ownTable},
			each:       10, rounds: 20, query: count,
			trouble: func(p []*program.Program, round int) error {
				var emails []string
				for _, email := range five {
					emails = append(emails, fmt.Sprint(email, "-", round/2))
				}
				return createAtOnce(p, 1-round%2, emails...) // in every other round they are there already
			},
		},
		"another program holds five emails that it has not committed": {
			statements: []string{ownTable, "BEGIN",
				"INSERT INTO users (name, email) VALUES ('n', '" + strings.Join(five, "'), ('n', '") + "')"},
			each: 10, rounds: 1, query: count,
			trouble: func(p []*program.Program, _ int) error {
				return createAtOnce(p, 0, five...)
			},
		},
		"a trigger takes 50 ms, and 1,000 creations come at once": {
			statements: []string{ownTable, trigger("BEFORE INSERT", "PERFORM pg_sleep(0.05)")},
			clients:    1000, each: 1, query: count, // for each program 6 s, four at once
		},
		"a column takes twenty characters, and cuts the blanks behind them": {
			statements: []string{strings.Replace(ownTable, "email text", "email varchar(20)", 1)},
			each:       10, rounds: 20, query: count,
			trouble: func(p []*program.Program, round int) error {
				fits := fmt.Sprint("fits", round)
				for _, blanks := range []int{0, 1, 100} {
					email := fits + strings.Repeat(" ", blanks)
					if err := expectStatus(p[round%2], 201, "POST", "/api/users", program.Body("n", email)); err != nil {
						return err
					}
				}
				long := program.Body("n", fits+strings.Repeat(" ", 20)+"!")
				return expectStatus(p[round%2], 500, "POST", "/api/users", long)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, other := program.ServeFile(t, test.statements...)
			two := []*program.Program{p, program.Serve(t, "DATA_DIR="+p.DataDir)}
			created := createBeside(t, cmp.Or(test.clients, 20), test.each, test.rounds, func(round int) error {
				return test.trouble(two, round)
			}, two...)
			program.Expect(t, "how many were created", other.Ask(test.query), created)
		})
	}
}
