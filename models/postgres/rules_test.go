//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// trigger returns a trigger with the body of its function.
func trigger(when, body string) string {
	return fmt.Sprintf("CREATE FUNCTION rule() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$; "+
		"CREATE TRIGGER rule %s FOR EACH ROW EXECUTE FUNCTION rule()", body, when)
}

// withRule opens a database with two users, and then gives its table a rule.
func withRule(t *testing.T, rule string) (users *Users, first, second int64) {
	t.Helper()
	url := postgresql.Shared(t).NewDatabase(t)
	users = openUsers(t, url)
	first, second = storetest.Create(t, users, "ada"), storetest.Create(t, users, "alan")
	postgresql.SQL(t, url, rule)
	return users, first, second
}

// Triggers for creations that are made while the service runs, and what is stored of "Grace" then under the id that the
// statement returned; "" when it is ignored.
var createRules = []struct{ name, rule, stored string }{
	{"a trigger that changes the name", trigger("BEFORE INSERT ON users", "NEW.name = upper(NEW.name); RETURN NEW;"), "GRACE"},
	{"a trigger that changes it afterwards", trigger("AFTER INSERT ON users",
		"UPDATE users SET name = 'later' WHERE id = NEW.id; RETURN NULL;"), "later"},
	{"a trigger that gives another id", trigger("BEFORE INSERT ON users", "NEW.id = 1000 + NEW.id; RETURN NEW;"), "Grace"},
	{"a trigger that ignores", trigger("BEFORE INSERT ON users", "RETURN NULL;"), ""},
	{"a trigger that stores it itself", trigger("BEFORE INSERT ON users", `IF pg_trigger_depth() = 1 THEN
		INSERT INTO users (name, email) VALUES (NEW.name, NEW.email); RETURN NULL; END IF; RETURN NEW;`), ""},
}

func TestACreationIsAnsweredWithTheIDThatTheStatementReturned(t *testing.T) {
	t.Parallel()
	for _, test := range createRules {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			users, _, _ := withRule(t, test.rule)
			all := []models.NewUser{{Name: "Grace", Email: "e0"}, {Name: "Grace", Email: "e1"}, {Name: "Grace", Email: "e2"}}
			ids, errs := createAll(users, all...)
			for i, id := range ids {
				if test.stored == "" {
					if !errors.Is(errs[i], models.ErrIgnored) {
						t.Errorf("what is ignored is answered with %d, %v", id, errs[i])
					}
					continue
				}
				got, err := users.Get(ctx, id)
				if errs[i] != nil || err != nil || got.Name != test.stored || got.Email != all[i].Email {
					t.Errorf("%v is answered with %d, %v: %+v, %v", all[i], id, errs[i], got, err)
				}
			}
		})
	}
}

// Triggers for changes and deletions, what is answered to a change of the name to "Grace" and stored then, and what
// becomes of a deletion.
var changeRules = []struct {
	name, rule         string
	answered, stored   string
	changing, deleting error
}{
	{"a trigger that changes the name", trigger("BEFORE UPDATE ON users", "NEW.name = upper(NEW.name); RETURN NEW;"),
		"GRACE", "GRACE", nil, nil},
	{"a trigger that changes it afterwards", trigger("AFTER UPDATE ON users",
		"IF pg_trigger_depth() = 1 THEN UPDATE users SET name = 'later' WHERE id = NEW.id; END IF; RETURN NULL;"),
		"Grace", "later", nil, nil},
	{"a trigger that ignores", trigger("BEFORE UPDATE OR DELETE ON users", "RETURN NULL;"),
		"", "ada", models.ErrIgnored, models.ErrIgnored},
}

func TestAChangeIsAnsweredWithWhatTheStatementReturned(t *testing.T) {
	t.Parallel()
	for _, test := range changeRules {
		for condition, allow := range map[string]models.Condition{
			"": nil, ", under a condition": func(models.User) error { return nil },
		} {
			t.Run(test.name+condition, func(t *testing.T) {
				t.Parallel()
				users, first, second := withRule(t, test.rule)
				name := "Grace"
				got, err := users.Change(ctx, first, storetest.Values("name", name), allow)
				if !errors.Is(err, test.changing) || err == nil && got.Name != test.answered {
					t.Errorf("the change is answered with %+v, %v", got, err)
				}
				if stored, err := users.Get(ctx, first); stored.Name != test.stored || err != nil {
					t.Errorf("stored is %+v, %v", stored, err)
				}
				if err := users.Delete(ctx, second, allow); !errors.Is(err, test.deleting) {
					t.Errorf("the deletion is answered with %v", err)
				}
				if _, err := users.Get(ctx, second); errors.Is(err, models.ErrNotFound) != (test.deleting == nil) {
					t.Errorf("after the deletion: %v", err)
				}
			})
		}
	}
}

// What a trigger raises is the answer, and nothing is stored.
func TestARefusalOfATriggerIsTold(t *testing.T) {
	t.Parallel()
	users, first, _ := withRule(t, trigger("BEFORE INSERT OR UPDATE OR DELETE ON users", "RAISE EXCEPTION 'not on Sundays';"))
	before, _ := storetest.Text(t, users)
	name := "Grace"
	_, create := users.Create(ctx, models.NewUser{Name: "n", Email: "e"})
	_, change := users.Change(ctx, first, storetest.Values("name", name), nil)
	for what, err := range map[string]error{"creating": create, "changing": change, "deleting": users.Delete(ctx, first, nil)} {
		if err == nil || err.Error() != "ERROR: not on Sundays (SQLSTATE P0001)" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after, _ := storetest.Text(t, users); after != before {
		t.Errorf("the users were %s and are %s", before, after)
	}
}

// A change that a deferred constraint refuses is refused at the commit.
func TestWhatIsRefusedAtTheCommitIsNotStored(t *testing.T) {
	t.Parallel()
	users, first, _ := withRule(t, "ALTER TABLE users DROP CONSTRAINT uni_users_email; "+
		"ALTER TABLE users ADD CONSTRAINT later UNIQUE (email) DEFERRABLE INITIALLY DEFERRED")
	all := append(numbered(20), models.NewUser{Name: "n", Email: "ada"})
	ids, errs := createAll(users, all...)
	expectStored(t, users, all, ids, errs)
	for i, err := range errs {
		if failed, ok := errors.AsType[*models.StorageError](err); (i == 20) != (ok && failed.Duplicate) {
			t.Errorf("creation %d: %v", i, err)
		}
	}
	email := "alan"
	for _, allow := range []models.Condition{nil, func(models.User) error { return nil }} {
		_, err := users.Change(ctx, first, storetest.Values("email", email), allow)
		if failed, ok := errors.AsType[*models.StorageError](err); !ok || !failed.Duplicate {
			t.Errorf("the change is answered with %v", err)
		}
	}
	if ada, err := users.Get(ctx, first); ada.Email != "ada" || err != nil {
		t.Errorf("stored is %v, %v", ada, err)
	}
}

// Another program may change the table while statements on it are prepared.
func TestATableMayChangeUnderItsUsers(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	for i, change := range []string{
		"ALTER TABLE users ADD COLUMN phone text NOT NULL DEFAULT ''", "ALTER TABLE users ALTER COLUMN created_at TYPE timestamp",
		"ALTER TABLE users ALTER COLUMN id TYPE int", "ALTER TABLE users ALTER COLUMN name TYPE varchar(100)", "TRUNCATE users",
		"ALTER TABLE users RENAME TO old; CREATE TABLE users (LIKE old INCLUDING ALL)",
	} {
		for round := range 10 { // on every connection
			useOnce(t, users, fmt.Sprint(change, round))
		}
		postgresql.SQL(t, url, change)
		ids, errs := createAll(users, numbered(20)...)
		for _, id := range ids {
			_, err := users.Get(ctx, id)
			errs = append(errs, err, users.Delete(ctx, id, nil))
		}
		if err := errors.Join(errs...); err != nil {
			t.Errorf("after change %d: %v", i, err)
		}
	}
}

// useOnce creates, reads, changes and deletes a user.
func useOnce(t *testing.T, users *Users, email string) {
	t.Helper()
	id := storetest.Create(t, users, email)
	name := "changed"
	_, err := users.Change(ctx, id, storetest.Values("name", name), nil)
	_, get := users.Get(ctx, id)
	if err := errors.Join(err, get, users.Delete(ctx, id, nil)); err != nil {
		t.Error(err)
	}
}

// watched are users with a trigger for each statement, which was made while the service runs and notes what it sees.
func watched(t *testing.T) (users *Users, url string, ids []int64) {
	t.Helper()
	url = postgresql.Shared(t).NewDatabase(t)
	users = openUsers(t, url)
	ids = []int64{storetest.Create(t, users, "ada"), storetest.Create(t, users, "bob")}
	postgresql.SQL(t, url, "CREATE TABLE seen (what text)",
		"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (tg_op); RETURN NULL; END'",
		"CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON users FOR EACH STATEMENT EXECUTE FUNCTION note()")
	return users, url, ids
}

func expectSeen(t *testing.T, url, want string) {
	t.Helper()
	if seen := postgresql.Ask(t, url, "SELECT coalesce(string_agg(what, ' '), '') FROM seen"); seen != want {
		t.Errorf("the trigger saw %q, and not %q", seen, want)
	}
}

// A trigger for each statement runs once for each write, also when it was made while the service runs.
func TestATriggerForEachStatementRunsOnceForEachWrite(t *testing.T) {
	t.Parallel()
	name := "new"
	for what, write := range map[string]func(*Users, int64) error{
		"INSERT": func(users *Users, id int64) error {
			_, err := users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(id, "@example.org")})
			return err
		},
		"UPDATE": func(users *Users, id int64) error {
			_, err := users.Change(ctx, id, storetest.Values("name", name), nil)
			return err
		},
		"DELETE": func(users *Users, id int64) error { return users.Delete(ctx, id, nil) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			users, url, ids := watched(t)
			if err := errors.Join(write(users, ids[0]), write(users, ids[1])); err != nil {
				t.Fatal(err)
			}
			expectSeen(t, url, what+" "+what)
		})
	}
}
