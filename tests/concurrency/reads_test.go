package concurrency

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

	"users-api/tests/ledger"
	"users-api/tests/program"
)

// Clients and another program create, change and delete users. Others read them meanwhile in every way there is, and the
// figures.
func TestEveryReadShowsEachCommitThatWasCompleteBefore(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"kept": "LIST_MEMORY_MIB=32", "streamed": "LIST_MEMORY_MIB=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, l := program.Serve(t, setting, "ADMIN_PORT=0"), ledger.New()
			admin := program.Admin(t, p)
			other := program.OpenOther(t, p.DatabasePath())
			var writers, readers sync.WaitGroup
			var done atomic.Bool
			for i := range 4 {
				writers.Go(func() { createMany(t, p, l, i, program.Times(50, 100)) })
			}
			for range 2 {
				writers.Go(func() { changeMany(t, p, l, program.Times(50, 100)) })
				writers.Go(func() { deleteMany(t, p, l, program.Times(20, 40)) })
			}
			writers.Go(func() { writeFromOutside(other, l, program.Times(20, 40)) })
			for _, read := range reads {
				readers.Go(func() {
					for !done.Load() && readOnce(t, p, l, read) {
					}
				})
			}
			readers.Go(func() {
				for !done.Load() {
					if figures, err := admin.Send("GET", "/metrics", ""); err != nil || figures.Status != 200 {
						t.Errorf("a scrape is answered %d, %v", figures.Status, err)
						return
					}
				}
			})
			writers.Wait()
			done.Store(true)
			readers.Wait()
			for _, read := range reads {
				readOnce(t, p, l, read)
			}
		})
	}
}

// createMany creates users. Every tenth is a duplicate of the one before, which no client may ever see.
func createMany(t *testing.T, p *program.Program, l *ledger.Ledger, client, n int) {
	for i := range n {
		email := fmt.Sprintf("%d-%d", client, i)
		if i%10 >= 8 {
			email = fmt.Sprintf("%s%d-%d", ledger.Twice, client, i/10)
		}
		id, err := l.Create(p, email)
		if err != nil || (id == 0) != (i%10 == 9) {
			t.Errorf("creation %d got the id %d, %v", i, id, err)
			return
		}
	}
}

func changeMany(t *testing.T, p *program.Program, l *ledger.Ledger, n int) {
	for range n {
		if err := l.Change(p); err != nil {
			t.Error(err)
			return
		}
	}
}

func deleteMany(t *testing.T, p *program.Program, l *ledger.Ledger, n int) {
	for range n {
		id, found := l.ClaimDeletion()
		if !found {
			continue
		}
		if err := l.Delete(p, id); err != nil || !l.Snapshot()[id].Gone {
			t.Errorf("%d could not be deleted: %v", id, err)
			return
		}
	}
}

// writeFromOutside is another program: it creates two users, deletes one of them and changes another, again and again.
func writeFromOutside(other *program.Other, l *ledger.Ledger, n int) {
	const insert = "INSERT INTO users (name, email) VALUES ('v0', '%s-%d') RETURNING id"
	for i := range n {
		id, _ := strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "stays", i)), 10, 64)
		l.Created(id, fmt.Sprint("stays-", i))

		id, _ = strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "goes", i)), 10, 64)
		l.Deleting(id)
		other.Do(fmt.Sprintf("DELETE FROM users WHERE id = %d", id))
		l.Deleted(id)

		if id, version, found := l.ClaimChange(); found {
			other.Do(fmt.Sprintf("UPDATE users SET name = 'v%d' WHERE id = %d", version, id))
			l.Changed(id, version, true)
		}
	}
}

// A wayToRead reads users, and compares what it reads with what was known before.
type wayToRead func(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error

var reads = []wayToRead{
	readList, readList, readPages, readUser, readUser, readEmail, readSearch,
}

func readOnce(t *testing.T, p *program.Program, l *ledger.Ledger, read wayToRead) bool {
	err := read(p, l, l.Snapshot())
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

func readList(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error {
	users, _, err := fetch(p, "")
	if err != nil {
		return err
	}
	return l.Check(users, before)
}

// readPages reads all users in pages. Each is of its own moment, all of them later than before.
func readPages(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error {
	var all []program.User
	for query := "?limit=50"; query != ""; {
		users, next, err := fetch(p, query)
		if err != nil {
			return err
		}
		all, query = append(all, users...), next
	}
	return l.Check(all, before)
}

func readUser(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error {
	for id, known := range before { // a random one
		answer, err := p.Send("GET", fmt.Sprintf("/api/users/%d", id), "")
		if err != nil {
			return err
		}
		if answer.Status == http.StatusNotFound {
			return l.CheckMissing(id)
		}
		user, err := answer.ParseUser()
		if err != nil {
			return err
		}
		return l.CheckUser(user, known)
	}
	return nil
}

func readEmail(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error {
	for id, known := range before {
		if known.Email == "" {
			continue
		}
		users, _, err := fetch(p, "?email="+known.Email)
		if err != nil {
			return err
		}
		if len(users) > 1 {
			return fmt.Errorf("%d users have the email %s", len(users), known.Email)
		}
		return l.Check(users, map[int64]ledger.Fate{id: known})
	}
	return nil
}

func readSearch(p *program.Program, l *ledger.Ledger, before map[int64]ledger.Fate) error {
	text := strconv.Itoa(rand.IntN(4)) + "-"
	users, _, err := fetch(p, "?q="+text)
	if err != nil {
		return err
	}
	maps.DeleteFunc(before, func(_ int64, known ledger.Fate) bool { return !strings.Contains(known.Email, text) })
	return l.Check(users, before)
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
