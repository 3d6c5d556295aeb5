package operations

import (
	"encoding/csv"
	"os"
	"reflect"
	"testing"
	"time"

	"users-api/tests/program"
)

// people reads the names and emails of tests/testdata/people.csv.
func people(t testing.TB) [][]string {
	t.Helper()
	file, err := os.Open("../testdata/people.csv")
	program.Must(t, err)
	defer file.Close() //nolint:errcheck // it was only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[1:]
}

func TestUsersAreTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	began := time.Now().UTC().Truncate(time.Second)
	var want []program.User
	for _, row := range people(t) {
		id := p.Create(t, row[0], row[1])
		want = append(want, program.User{ID: id, Name: row[0], Email: row[1]})
	}
	for range 3 {
		p.Delete(t, want[10].ID)
		want = append(want[:10], want[11:]...)
	}
	expectPeople(t, p, want, began)
	p.Stop(t)

	again := program.Serve(t, "DATA_DIR="+p.DataDir)
	expectPeople(t, again, want, began)
	last := want[len(want)-1].ID
	again.Delete(t, last)
	if id := again.Create(t, "Next", "next@example.org"); id != last+1 {
		t.Errorf("the next user has the id %d after %d was deleted", id, last)
	}
}

// expectPeople compares the list with the users that were created since a time.
func expectPeople(t *testing.T, p *program.Program, want []program.User, since time.Time) {
	t.Helper()
	got := p.List(t)
	for i := range got {
		created, err := time.Parse(time.DateTime, got[i].CreatedAt)
		if err != nil || created.Before(since) || created.After(time.Now().UTC()) {
			t.Errorf("%d was created at %q, not since %s", got[i].ID, got[i].CreatedAt, since)
		}
		got[i].CreatedAt = ""
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the list is\n%v\nwant\n%v", got, want)
	}
}
