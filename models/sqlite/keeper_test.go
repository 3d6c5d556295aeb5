package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// fill creates n users with the ids 1 to n.
func fill(t testing.TB, users *Users, n int) {
	t.Helper()
	run(t, otherProgram(t, users), fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) "+
		"INSERT INTO users (name, email) SELECT 'User ' || i, 'user' || i || '@example.org' FROM n", n))
}

// kept returns the list that is kept now, after it was asked for.
func kept(t testing.TB, users *Users) *list {
	t.Helper()
	if _, version := storetest.Text(t, users); version == "" {
		return nil
	}
	users.keeper.looking.Lock()
	defer users.keeper.looking.Unlock()
	return users.keeper.current
}

// readAgain returns the numbers of the pieces that differ between two lists: those that were read again.
func readAgain(before, after *list) (numbers []int64) {
	for _, p := range after.pieces {
		if !slices.Contains(before.pieces, p) {
			numbers = append(numbers, p.number)
		}
	}
	return numbers
}

func TestOnlyThePiecesThatOurWritesTouchAreReadAgain(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 16<<20)
	fill(t, users, 5000)
	name, never := "n", "user2000@example.org"
	before := kept(t, users)
	for _, step := range []struct {
		name  string
		write func() error
		again []int64
	}{
		{"a creation", func() error { storetest.Create(t, users, "new"); return nil }, []int64{5001 >> idBits}},
		{"a change", func() error { _, err := users.Change(ctx, 17, models.Change{Name: &name}, nil); return err }, []int64{0}},
		{"a deletion", func() error { return users.Delete(ctx, 2048, nil) }, []int64{2}},
		{"a change of the last of a piece", func() error { _, err := users.Change(ctx, 1023, models.Change{Name: &name}, nil); return err }, []int64{0}},
		{"three writes", func() error {
			storetest.Create(t, users, "newer")
			_, err := users.Change(ctx, 2047, models.Change{Name: &name}, nil)
			return errors.Join(err, users.Delete(ctx, 1, nil))
		}, []int64{0, 1, 4}},
		{"a deletion of nobody", func() error { return expectError(users.Delete(ctx, 1, nil)) }, nil},
		{"a creation that is refused", func() error {
			_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "new"})
			return expectError(err)
		}, nil},
		{"a change that is refused", func() error {
			_, err := users.Change(ctx, 3, models.Change{Email: &never}, nil)
			return expectError(err)
		}, nil},
		{"a change that a condition refuses", func() error {
			_, err := users.Change(ctx, 3, models.Change{Name: &name}, func(models.User) error { return errors.New("no") })
			return expectError(err)
		}, nil},
	} {
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		after := kept(t, users)
		if again := readAgain(before, after); !slices.Equal(again, step.again) {
			t.Errorf("after %s the pieces %v were read again, want %v", step.name, again, step.again)
		}
		before = after
	}
	expectWhole(t, users)
}

func expectError(err error) error {
	if err == nil {
		return errors.New("it was not refused")
	}
	return nil
}

// expectWhole compares the kept list with what the file holds.
func expectWhole(t *testing.T, users *Users) {
	t.Helper()
	list, _ := storetest.Text(t, users)
	var whole []byte
	for piece, err := range models.Array(users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, piece...)
	}
	if list != string(whole) {
		t.Errorf("the list has %d bytes, and the file %d", len(list), len(whole))
	}
}

func TestAListIsReadAsAWholeWhenMoreThanOurWritesMayHaveChanged(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(t *testing.T, users *Users){
		"another program's write": func(t *testing.T, users *Users) {
			run(t, otherProgram(t, users), "UPDATE users SET name = 'changed' WHERE id = 4000")
		},
		"more writes than are remembered": func(t *testing.T, users *Users) {
			users.committer.underWay <- struct{}{}
			for i := range int64(maxChanges + 1) {
				users.committer.changed.user(i)
			}
			<-users.committer.underWay
			storetest.Create(t, users, "ours")
		},
	} {
		t.Run(name, func(t *testing.T) {
			users := openUsers(t, 16<<20)
			fill(t, users, 5000)
			storetest.Create(t, users, "first") // so that the committer knows the table
			before := kept(t, users)
			write(t, users)
			if again := readAgain(before, kept(t, users)); len(again) != 5 {
				t.Errorf("the pieces %v were read again", again)
			}
			expectWhole(t, users)
		})
	}
}

// Another program's commit between the keeper's two questions to the committer is not forgotten.
func TestACommitWhileAReadBeginsIsToldTheNextTimeToo(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	storetest.Create(t, users, "ours")
	for range 2 {
		if _, err := users.committer.between(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	since, err := users.committer.between(func() error { run(t, other, "INSERT INTO users (name, email) VALUES ('o', 'o')"); return nil })
	if err != nil || !since.anything {
		t.Errorf("a commit during the beginning: %+v, %v", since, err)
	}
	if since, err = users.committer.between(func() error { return nil }); err != nil || !since.anything {
		t.Errorf("the next time: %+v, %v", since, err)
	}
	if since, err = users.committer.between(func() error { return nil }); err != nil || since.anything || len(since.ids) > 0 {
		t.Errorf("when nothing was written: %+v, %v", since, err)
	}
}

// A commit that waits for another program's lock does not hold up the list.
func TestAListIsReadBesideAWriteThatWaits(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	storetest.Create(t, users, "ours")
	run(t, other, "INSERT INTO users (name, email) VALUES ('o', 'o')", "BEGIN IMMEDIATE")
	var wait sync.WaitGroup
	wait.Go(func() { storetest.Create(t, users, "waits") })
	for len(users.committer.underWay) == 0 {
		runtime.Gosched()
	}
	if text, version := storetest.Text(t, users); !strings.Contains(text, `"o"`) || version == "" {
		t.Errorf("the list is %s", text)
	}
	run(t, other, "COMMIT")
	wait.Wait()
	expectWhole(t, users)
}
