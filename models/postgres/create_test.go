//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// expectDuplicate expects that no other user gets Ada's email, by PostgreSQL's own text.
func expectDuplicate(t *testing.T, users *Users) {
	t.Helper()
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "ada"})
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || !failed.Duplicate || failed.Code != "23505" || failed.Meaning != "integrity constraint violation" {
		t.Fatalf("a duplicate is refused with %#v", err)
	}
}

// createAll creates users at once, and returns what became of each.
func createAll(users *Users, all ...models.NewUser) (ids []int64, errs []error) {
	ids, errs = make([]int64, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	for i, user := range all {
		wait.Go(func() { ids[i], errs[i] = users.Create(ctx, user) })
	}
	wait.Wait()
	return ids, errs
}

// numbered returns users with the emails 0 to n - 1.
func numbered(n int) (users []models.NewUser) {
	for i := range n {
		users = append(users, models.NewUser{Name: fmt.Sprint("name ", i), Email: fmt.Sprint(i)})
	}
	return users
}

// expectStored expects that each user that was created is what is stored under its id.
func expectStored(t *testing.T, users *Users, all []models.NewUser, ids []int64, errs []error) {
	t.Helper()
	given := map[int64]bool{}
	for i, user := range all {
		if errs[i] != nil {
			continue
		}
		if got, err := users.Get(ctx, ids[i]); !storetest.SameValues(got.NewUser, user) || err != nil || given[ids[i]] {
			t.Errorf("%v has the id %d, under which %v is stored, %v", user, ids[i], got, err)
		}
		given[ids[i]] = true
	}
}

func TestCreationsThatArriveTogetherShareCommits(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	all := numbered(1000)
	ids, errs := createAll(users, all...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	expectStored(t, users, all, ids, errs)
	commits := uint64(0)
	stats := users.Stats()
	for _, n := range stats.CommitWrites {
		commits += n
	}
	if stats.Writes != 1000 || commits > 500 || stats.DatabaseBytes == 0 {
		t.Errorf("%d commits hold %d writes, in %d bytes", commits, stats.Writes, stats.DatabaseBytes)
	}
}

// Of the creations with one email exactly one is stored, and what PostgreSQL cannot store is refused alone.
func TestOfManyCreationsOnlyThoseToBlameAreRefused(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, "CREATE TABLE users (id serial PRIMARY KEY, name varchar(20), email text UNIQUE, created_at timestamptz)")
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	all := numbered(100)
	refused := map[int]string{}
	for i, bad := range map[int]struct {
		user models.NewUser
		code string
	}{
		3:  {models.NewUser{Name: "n", Email: "ada"}, "23505"},
		20: {models.NewUser{Name: "a name with more than 20 letters", Email: "long"}, "22001"},
		40: {models.NewUser{Name: "n\x00n", Email: "NUL"}, "22021"},
		41: {models.NewUser{Name: "n", Email: "\xff"}, "22021"},
	} {
		all[i], refused[i] = bad.user, bad.code
	}
	all[60], all[70] = all[50], all[50]
	ids, errs := createAll(users, all...)
	expectStored(t, users, all, ids, errs)
	for i, err := range errs {
		failed, isStorages := errors.AsType[*models.StorageError](err)
		switch {
		case i == 50 || i == 60 || i == 70: // one of them, see below
		case refused[i] == "" && err != nil:
			t.Errorf("%d: %v", i, err)
		case refused[i] != "" && (!isStorages || failed.Code != refused[i] || failed.Duplicate != (failed.Code == "23505")):
			t.Errorf("%d: %v, want %s", i, err, refused[i])
		}
	}
	if n, err := users.Count(ctx, models.Query{}); n != 1+100-4-2 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

func TestADuplicateIsToldByPostgreSQL(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	storetest.Create(t, users, "ada")
	_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "ada"})
	const want = `ERROR: duplicate key value violates unique constraint "uni_users_email" (SQLSTATE 23505)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Only the email alone makes a duplicate: not another column, not an email in one's own department, and not a table
// that a trigger writes to.
func TestOnlyAnEmailThatIsTakenIsADuplicate(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id serial PRIMARY KEY, name text, email text, created_at timestamptz, dept int DEFAULT 1)"
	for name, test := range map[string]struct {
		rules []string
		want  bool
	}{
		"the email":                 {[]string{"CREATE UNIQUE INDEX i ON users (email)"}, true},
		"the email of some":         {[]string{"CREATE UNIQUE INDEX i ON users (email) WHERE dept = 1"}, true},
		"the email with the name":   {[]string{"CREATE UNIQUE INDEX i ON users (email, name)"}, false},
		"the name":                  {[]string{"CREATE UNIQUE INDEX i ON users (name)"}, false},
		"the email in lower case":   {[]string{"CREATE UNIQUE INDEX i ON users (lower(email))"}, false},
		"an email in another table": {[]string{"CREATE TABLE log (email text UNIQUE)", logsEmails, logsInserts}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			postgresql.SQL(t, url, append([]string{table}, test.rules...)...)
			users := openUsers(t, url)
			storetest.Create(t, users, "ada")
			for range 2 { // the second is answered from memory
				_, err := users.Create(ctx, models.NewUser{Name: "ada", Email: "ada"})
				failed, ok := errors.AsType[*models.StorageError](err)
				if !ok || failed.Code != "23505" || failed.Duplicate != test.want {
					t.Errorf("got %#v", err)
				}
			}
		})
	}
}

const (
	logsEmails = `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO log (email) VALUES (NEW.email); RETURN NEW; END $$`
	logsInserts = "CREATE TRIGGER note AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION note()"
)
