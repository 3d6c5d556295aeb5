package tests

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/program"
)

// Clients and another program create, change and delete users, while others read them in every way there is. Whatever
// is read shows every commit that was complete before it was asked for.
func TestWhateverIsReadShowsEveryCommitThatWasCompleteBefore(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"kept": "LIST_MEMORY_MIB=32", "streamed": "LIST_MEMORY_MIB=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := start(t, setting), newLedger()
			other := program.OpenOther(t, p.DatabasePath())
			var writers, readers sync.WaitGroup
			var done atomic.Bool
			for i := range 4 {
				writers.Go(func() { createMany(t, p, l, i, 100) })
			}
			for range 2 {
				writers.Go(func() { changeMany(t, p, l, 100) })
				writers.Go(func() { deleteMany(t, p, l, 40) })
			}
			writers.Go(func() { writeFromOutside(other, l, 40) })
			for _, read := range reads {
				readers.Go(func() {
					for !done.Load() && readOnce(t, p, l, read) {
					}
				})
			}
			writers.Wait()
			done.Store(true)
			readers.Wait()
			for _, read := range reads {
				readOnce(t, p, l, read)
			}
		})
	}
}

// createMany creates users. Every tenth is a duplicate of the one before, which nobody may ever see.
func createMany(t *testing.T, p *program.Program, l *ledger, client, n int) {
	for i := range n {
		email := fmt.Sprintf("%d-%d", client, i)
		if i%10 >= 8 {
			email = fmt.Sprintf("%s%d-%d", twice, client, i/10)
		}
		id, err := l.create(p, email)
		if err != nil || (id == 0) != (i%10 == 9) {
			t.Errorf("creation %d got the id %d, %v", i, id, err)
			return
		}
	}
}

func changeMany(t *testing.T, p *program.Program, l *ledger, n int) {
	for range n {
		if err := l.change(p); err != nil {
			t.Error(err)
			return
		}
	}
}

func deleteMany(t *testing.T, p *program.Program, l *ledger, n int) {
	for range n {
		id, found := l.claimDeletion()
		if !found {
			continue
		}
		if err := l.delete(p, id); err != nil || !l.snapshot()[id].gone {
			t.Errorf("%d could not be deleted: %v", id, err)
			return
		}
	}
}

// writeFromOutside is another program: it creates two users, deletes one of them and changes another, again and again.
func writeFromOutside(other *program.Other, l *ledger, n int) {
	const insert = "INSERT INTO users (name, email) VALUES ('v0', '%s-%d') RETURNING id"
	for i := range n {
		id, _ := strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "stays", i)), 10, 64)
		l.created(id, fmt.Sprint("stays-", i))

		id, _ = strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "goes", i)), 10, 64)
		l.deleting(id)
		other.Do(fmt.Sprintf("DELETE FROM users WHERE id = %d", id))
		l.deleted(id)

		if id, version, found := l.claimChange(); found {
			other.Do(fmt.Sprintf("UPDATE users SET name = 'v%d' WHERE id = %d", version, id))
			l.changed(id, version, true)
		}
	}
}

// A wayToRead reads users, and compares what it reads with what was known before.
type wayToRead func(p *program.Program, l *ledger, before map[int64]fate) error

var reads = []wayToRead{
	readList, readList, readPages, readUser, readUser, readEmail, readSearch,
}

func readOnce(t *testing.T, p *program.Program, l *ledger, read wayToRead) bool {
	err := read(p, l, l.snapshot())
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

func readList(p *program.Program, l *ledger, before map[int64]fate) error {
	users, _, err := fetch(p, "")
	if err != nil {
		return err
	}
	return l.check(users, before)
}

// readPages reads everybody in pages. Each is of its own moment, all of them later than before.
func readPages(p *program.Program, l *ledger, before map[int64]fate) error {
	var all []program.User
	for query := "?limit=50"; query != ""; {
		users, next, err := fetch(p, query)
		if err != nil {
			return err
		}
		all, query = append(all, users...), next
	}
	return l.check(all, before)
}

func readUser(p *program.Program, l *ledger, before map[int64]fate) error {
	for id, known := range before { // a random one
		answer, err := p.Send("GET", fmt.Sprintf("/api/users/%d", id), "")
		if err != nil {
			return err
		}
		if answer.Status == http.StatusNotFound {
			return l.checkMissing(id)
		}
		user, err := answer.ParseUser()
		if err != nil {
			return err
		}
		return l.checkUser(user, known)
	}
	return nil
}

func readEmail(p *program.Program, l *ledger, before map[int64]fate) error {
	for id, known := range before {
		if known.email == "" {
			continue
		}
		users, _, err := fetch(p, "?email="+known.email)
		if err != nil {
			return err
		}
		if len(users) > 1 {
			return fmt.Errorf("%d users have the email %s", len(users), known.email)
		}
		return l.check(users, map[int64]fate{id: known})
	}
	return nil
}

func readSearch(p *program.Program, l *ledger, before map[int64]fate) error {
	text := strconv.Itoa(rand.IntN(4)) + "-"
	users, _, err := fetch(p, "?q="+text)
	if err != nil {
		return err
	}
	maps.DeleteFunc(before, func(_ int64, known fate) bool { return !strings.Contains(known.email, text) })
	return l.check(users, before)
}

// fetch lists users, and returns the query of the next page as well.
func fetch(p *program.Program, query string) (users []program.User, next string, err error) {
	answer, err := p.Send("GET", "/api/users"+query, "")
	if err != nil {
		return nil, "", err
	}
	next, _, _ = strings.Cut(strings.TrimPrefix(answer.Header.Get("Link"), "<"), ">")
	users, err = answer.ParseUsers()
	return users, next, err
}
