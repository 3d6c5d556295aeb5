package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"users-api/database"
	"users-api/models"
	"users-api/tests/failing"
	"users-api/tests/program"
)

// Each operation is carried out with its first statement failing, then with its second, and so on: an error that is not
// passed on is an answer that says that something was done which was not.

// failingStorage is one with three users, and one who was deleted, whose statements fail.
type failingStorage struct {
	*storage
	statements *failing.Statements
}

func (d engine) openFailing(t testing.TB) failingStorage {
	t.Helper()
	f := failingStorage{statements: &failing.Statements{}}
	f.storage = d.openAt(t, d.failing(t, f.statements), plain())
	for _, name := range []string{"Ada", "Alan", "Grace", "Edsger"} {
		_, err := f.Create(ctx, models.Profile{Name: name, Email: strings.ToLower(name)})
		program.Must(t, err)
	}
	program.Must(t, f.remove(4))
	return f
}

// operation is what a test does with three users. It returns its whole answer.
type operation struct {
	name   string
	run    func(s *storage) (answer any, err error)
	want   string // the answer if nothing fails
	stored string // the users then, if they are others than before
	heals  string // says why it may succeed, as a whole, although a statement has failed
}

const three = "Ada ada, Alan alan, Grace grace"

// again: what the database refuses is done once more, in steps, to find the row that is to blame.
const again = "an import whose statement SQLite refuses is done again, in steps"

// unset: GORM's driver of SQLite does not say that a savepoint was not set. What follows is carried out all the same.
const unset = "a step of a batch needs its savepoint only if it fails, too"

var operations = []operation{
	{"a creation", func(s *storage) (any, error) {
		id, err := s.Create(ctx, models.Profile{Name: "Zoe", Email: "zoe"})
		return id > 3, err
	}, "true", three + ", Zoe zoe", ""},
	{"a change", change(database.Who{ID: 2}, nil), "Zoe alan", "Ada ada, Zoe alan, Grace grace", ""},
	{"a change with a precondition", change(database.Who{ID: 2}, all), "Zoe alan", "Ada ada, Zoe alan, Grace grace", ""},
	{"a change by email", change(database.Who{Email: "alan"}, nil), "Zoe alan", "Ada ada, Zoe alan, Grace grace", ""},
	{"a change of nothing", func(s *storage) (any, error) {
		user, err := s.Change(ctx, database.Who{ID: 2}, models.Values{}, nil)
		return shown(user), err
	}, "Alan alan", "", ""},
	{"a replacement by email", put("alan"), "Zoe alan false", "Ada ada, Zoe alan, Grace grace", ""},
	{"a creation by email", put("zoe"), "Zoe zoe true", three + ", Zoe zoe", ""},
	{"a deletion", remove(database.Who{ID: 2}, nil), "2", "Ada ada, Grace grace", ""},
	{"a deletion with a precondition", remove(database.Who{ID: 2}, all), "2", "Ada ada, Grace grace", ""},
	{"a deletion by email", remove(database.Who{Email: "alan"}, nil), "2", "Ada ada, Grace grace", ""},
	{"an import of new users", imported(database.ImportOptions{}, "Zoe:zoe", "Ben:ben"),
		"2 created, 0 updated, 0 skipped, 0 deleted []", three + ", Zoe zoe, Ben ben", again},
	{"an import that skips users", imported(database.ImportOptions{OnConflict: database.ConflictSkips}, "Zoe:ada", "Ben:ben"),
		"1 created, 0 updated, 1 skipped, 0 deleted []", three + ", Ben ben", again},
	{"an import that changes users", imported(database.ImportOptions{OnConflict: updates}, "Zoe:alan", "Ben:ben", "Eve:ben"),
		"1 created, 2 updated, 0 skipped, 0 deleted []", "Ada ada, Zoe alan, Grace grace, Eve ben", again},
	{"an import that deletes users", imported(becomes(2), "Ada:ada"),
		"0 created, 0 updated, 1 skipped, 2 deleted [{2 alan} {3 grace}]", "Ada ada", again},
	{"an import that would delete too many", imported(becomes(1), "Ada:ada"), "refused: 2 of 1 [{2 alan} {3 grace}]", "", again},
	{"a dry run of an import", imported(database.ImportOptions{OnConflict: updates, DryRun: true}, "Zoe:ada", "Ben:ben"),
		"1 created, 1 updated, 0 skipped, 0 deleted []", "", again},
	{"an import with a user who exists", imported(database.ImportOptions{}, "Zoe:zoe", "Ben:ada", "Eve:eve"),
		"refused: 1 of 3, line 3", "", again},
	{"a user", func(s *storage) (any, error) {
		user, err := s.Get(ctx, database.Who{ID: 2})
		return shown(user), err
	}, "Alan alan", "", ""},
	{"a user by email", func(s *storage) (any, error) {
		user, err := s.Get(ctx, database.Who{Email: "alan"})
		return shown(user), err
	}, "Alan alan", "", ""},
	{"the list in memory", func(s *storage) (any, error) {
		text := "not kept"
		_, err := s.List(ctx, func(list *database.List) error {
			text = fmt.Sprint(strings.Count(string(list.JSON), `"id":`))
			return nil
		})
		return text, err
	}, "3", "", ""},
	{"the whole list", query(models.Query{}), three + ", 0", "", ""},
	{"an export that is counted", query(models.Query{Count: true}), three + ", 3", "", ""},
	{"a page", query(models.Query{After: &models.Place{ID: 1}, Limit: 1, Count: true}), "Alan alan, 3", "", ""},
	{"a sorted page", query(models.Query{Sort: "name", Descending: true, Limit: 2, Count: true}), "Grace grace, Alan alan, 3", "", ""},
	{"a sorted page behind a place", query(models.Query{Sort: "name", After: &models.Place{Key: "ada", ID: 1}, Limit: 2}),
		"Alan alan, Grace grace, 0", "", ""},
	{"a search", query(models.Query{Where: models.And{models.Search("RAC")}, Count: true}), "Grace grace, 1", "", ""},
	{"those with a value", func(s *storage) (any, error) {
		is, _ := s.fields.Compare("email", models.Equal, "alan")
		return query(models.Query{Where: models.And{is}, Count: true})(s)
	}, "Alan alan, 1", "", ""},
	{"the feed", func(s *storage) (any, error) {
		changes, err := s.Changes(ctx, "", 9) // those of a moment ago may come only when other tests have committed
		return fmt.Sprint(changes.Next != "", s.delayed || len(changes.Entries) > 2 && changes.Entries[2].User != nil), err
	}, "true true", "", ""},
	{"the history of a user", history(database.Who{ID: 2}), "created", "", ""},
	{"the history of a user by email", history(database.Who{Email: "alan"}), "created", "", ""},
	{"who was deleted", func(s *storage) (any, error) {
		deletions, _, err := s.Deleted(ctx, "edsger", "", 9)
		if err != nil || len(deletions) != 1 {
			return len(deletions), err
		}
		return shown(*deletions[0].User), nil
	}, "Edsger edsger", "", ""},
	{"a restore", func(s *storage) (any, error) {
		user, err := s.Restore(ctx, 4, models.Values{})
		return shown(user), err
	}, "Edsger edsger", three + ", Edsger edsger", ""},
	{"an erasure of a history", erase(database.Who{ID: 4}), "4", three, ""},
	{"an erasure by email", erase(database.Who{Email: "alan"}), "2", three, ""},
	{"a batch", batch(true, writes...), "[<nil> <nil> <nil> <nil>]", "Ada ada, Zoe alan, Edsger edsger, n zoe", unset},
	{"a batch of reads", func(s *storage) (any, error) {
		return batch(false, func(ctx context.Context, s *storage) error {
			_, err := s.Get(ctx, database.Who{ID: 2})
			return err
		}, func(ctx context.Context, s *storage) error {
			return s.Query(ctx, models.Query{Limit: 2}, func(result database.Result) error {
				for _, err := range result.Users {
					if err != nil {
						return err
					}
				}
				return nil
			})
		})(s)
	}, "[<nil> <nil>]", "", unset},
	{"what is unique", func(s *storage) (any, error) {
		names, ignoresCase := s.Uniqueness()
		return fmt.Sprint(strings.Contains(strings.Join(names, " "), "email"), ignoresCase), nil
	}, "true false", "", ""},
}

func all(models.User) error { return nil }

func shown(user models.User) string { return user.Name + " " + user.Email }

func change(who database.Who, allow models.Precondition) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		user, err := s.Change(ctx, who, values(s.fields, "name", "Zoe"), allow)
		return shown(user), err
	}
}

func put(email string) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		user, isNew, err := s.Put(ctx, email, values(s.fields, "name", "Zoe"), all, func() error { return nil })
		return fmt.Sprint(shown(user), " ", isNew), err
	}
}

func history(who database.Who) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		entries, _, err := s.History(ctx, who, "", 9)
		ops := ""
		for _, entry := range entries {
			ops += string(entry.Op)
		}
		return ops, err
	}
}

func erase(who database.Who) func(*storage) (any, error) {
	return func(s *storage) (any, error) { return s.Erase(ctx, who) }
}

// step is one request of a batch.
type step = func(ctx context.Context, s *storage) error

// writes are steps: each of them changes something that can be seen.
var writes = []step{
	func(ctx context.Context, s *storage) error { return s.add(ctx, "zoe") },
	func(ctx context.Context, s *storage) error {
		_, err := s.Change(ctx, database.Who{ID: 2}, values(s.fields, "name", "Zoe"), all)
		return err
	},
	func(ctx context.Context, s *storage) error {
		_, err := s.Delete(ctx, database.Who{ID: 3}, nil)
		return err
	},
	func(ctx context.Context, s *storage) error {
		_, err := s.Restore(ctx, 4, models.Values{})
		return err
	},
}

// batch carries out a batch, of which every step must succeed. The answer is the error of each.
func batch(writes bool, steps ...step) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		var outcomes []error
		err := s.Batch(ctx, writes, func(ctx context.Context) error {
			outcomes = nil
			for _, step := range steps {
				outcomes = append(outcomes, s.Step(ctx, func(ctx context.Context) error { return step(ctx, s) }))
			}
			return errors.Join(outcomes...)
		})
		return outcomes, err
	}
}

func remove(who database.Who, allow models.Precondition) func(*storage) (any, error) {
	return func(s *storage) (any, error) { return s.Delete(ctx, who, allow) }
}

// imported imports rows. What refuses an import of itself is an answer.
func imported(options database.ImportOptions, rows ...string) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		done, err := s.Import(ctx, lines(file(rows...)), options)
		if refused, ok := errors.AsType[*database.RefusedRows](err); ok && refused.Refused == 1 {
			if errors.Is(refused.Listed[0].Err, models.ErrEmailUsed) {
				return fmt.Sprintf("refused: 1 of %d, line %d", refused.All, refused.Listed[0].Line), nil
			}
		}
		if refused, ok := errors.AsType[*database.TooManyDeletes](err); ok {
			return fmt.Sprintf("refused: %d of %d %v", refused.Missing, refused.Max, refused.Users), nil
		}
		return fmt.Sprintf("%d created, %d updated, %d skipped, %d deleted %v",
			done.Created, done.Updated, done.Skipped, done.Deleted, done.DeletedUsers), err
	}
}

func query(query models.Query) func(*storage) (any, error) {
	return func(s *storage) (any, error) {
		var users []string
		var total int64
		err := s.Query(ctx, query, func(result database.Result) error {
			total = result.Total
			for user, err := range result.Users {
				if err != nil {
					return err
				}
				users = append(users, shown(*user))
			}
			return nil
		})
		return fmt.Sprint(strings.Join(users, ", "), ", ", total), err
	}
}

// An operation of which a statement fails says so, has stored nothing, and spoils nothing.
func TestNoFailureOfAStatementIsHidden(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		for _, o := range operations {
			t.Run(d.name+": "+o.name, func(t *testing.T) {
				t.Parallel()
				f := d.openFailing(t)
				for n, failed := 1, "?"; failed != ""; n++ {
					f.statements.Fail(n)
					answer, err := o.run(f.storage)
					failed = f.statements.End()
					endsRead := o.stored == "" && strings.Contains(failed, "commit") // of what is read already
					isDone := err == nil && (failed == "" || o.heals != "" || endsRead)
					users, want := f.users(t), three
					if isDone && o.stored != "" {
						want = o.stored
					}
					if failed != "" && err == nil && !isDone {
						t.Errorf("no error, although statement %d fails (%s): the answer is %v", n, failed, answer)
					}
					if failed == "" && err != nil || isDone && fmt.Sprint(answer) != o.want {
						t.Errorf("the answer is %v, %v, want %s, where statement %d fails (%s)", answer, err, o.want, n, failed)
					}
					if users != want {
						t.Errorf("stored are %s, want %s, where statement %d fails (%s), with %v", users, want, n, failed, err)
					}
					if t.Failed() {
						return
					}
					if isDone && failed != "" && !endsRead {
						f = d.openFailing(t)
						continue
					}
					before := strings.Split(strings.ReplaceAll(want, " ", ":"), ",:")
					created := f.add(ctx, "after")
					if done, err := f.Import(ctx, lines(file(before...)), becomes(1)); created != nil || err != nil || done.Deleted != 1 {
						t.Fatalf("the next writes: %v, %+v, %v, after statement %d has failed (%s)", created, done, err, n, failed)
					}
				}
			})
		}
	}
}

// What a batch says of each step is what is stored, whichever statement fails: a step that fails leaves nothing behind.
func TestABatchHasStoredWhatItSays(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f := d.openFailing(t)
			for n, failed := 1, "?"; failed != ""; n++ {
				f.statements.Fail(n)
				var isDone []any
				err := f.Batch(ctx, true, func(ctx context.Context) error {
					isDone = nil
					for _, step := range writes {
						err := f.Step(ctx, func(ctx context.Context) error { return step(ctx, f.storage) })
						isDone = append(isDone, err == nil)
					}
					return nil
				})
				failed = f.statements.End()
				users, got := f.users(t), []any{}
				for _, part := range []string{"zoe", "Zoe alan", "grace", "edsger"} {
					got = append(got, strings.Contains(users, part) != (part == "grace"))
				}
				want := isDone
				if err != nil {
					want = []any{false, false, false, false}
				}
				if fmt.Sprint(got) != fmt.Sprint(want) || failed == "" && (err != nil || fmt.Sprint(want) != "[true true true true]") {
					t.Fatalf("done is %v, and %v says the batch, with %v, where statement %d fails (%s): %s", got, want, err, n, failed, users)
				}
				if err == nil {
					f = d.openFailing(t)
				}
			}
		})
	}
}

// users returns the names and emails that are stored.
func (s *storage) users(t testing.TB) string {
	t.Helper()
	var users []string
	for _, user := range selected(t, s.Users, models.Query{}) {
		users = append(users, shown(user))
	}
	return strings.Join(users, ", ")
}

// schema returns what the tables have, and what is on them.
func (s *storage) schema(t testing.TB, other *sql.DB) (schema string) {
	t.Helper()
	query := "SELECT coalesce(group_concat(sql, char(10)), '') FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
	if s.delayed {
		query = `SELECT string_agg(part, E'\n' ORDER BY part) FROM (
			SELECT table_name || ' ' || column_name AS part FROM information_schema.columns WHERE table_schema = current_schema()
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
			UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal) AS parts`
	}
	program.Must(t, other.QueryRow(query).Scan(&schema))
	return schema
}

func adding(field string) command {
	return func(at database.Location, ctx context.Context) error { return at.AddFields(ctx, field) }
}

func addingUnique(field string) command {
	return func(at database.Location, ctx context.Context) error { return at.AddUniqueFields(ctx, field) }
}

// A command that changes the schema says so if one of its statements fails. What it may have done before stays only where
// PostgreSQL needs more than a transaction, and the command can be run again.
func TestNoFailureOfAChangeOfTheSchemaIsHidden(t *testing.T) {
	t.Parallel()
	const shadow = "PRAGMA table_list looks at each virtual table, and at the next one if it cannot"
	for _, d := range databases {
		for name, command := range map[string]struct {
			before, run command
			hasSteps    bool   // on PostgreSQL
			heals       string // says why it may succeed on SQLite although a statement has failed
		}{
			"add-field":              {nil, adding("room"), false, ""},
			"add-field updated_at":   {nil, adding(models.UpdatedAt), false, ""},
			"add-field --unique":     {nil, addingUnique("room"), true, ""},
			"ignore-email-case":      {nil, database.Location.IgnoreEmailCase, true, ""},
			"index-search":           {nil, database.Location.IndexSearch, true, ""},
			"index-search --drop":    {database.Location.IndexSearch, database.Location.DropSearchIndex, false, shadow},
			"index-search once more": {database.Location.IndexSearch, database.Location.IndexSearch, true, shadow},
		} {
			t.Run(d.name+": "+name, func(t *testing.T) {
				t.Parallel()
				f := d.openFailing(t)
				if command.before != nil {
					program.Must(t, command.before(f.at, ctx))
				}
				other := f.other(t, f.at)
				before := f.schema(t, other)
				for n, failed := 1, "?"; failed != ""; n++ {
					f.statements.Fail(n)
					err := command.run(f.at, ctx)
					if f.delayed && command.hasSteps && err != nil && strings.Contains(err.Error(), "already: nothing was changed") {
						return // the last look at it has failed, or the loop ends here
					}
					failed = f.statements.End()
					if isHealed := command.heals != "" && !d.delayed; err != nil && failed == "" || err == nil && failed != "" && !isHealed {
						t.Fatalf("the error is %v, where statement %d fails (%s)", err, n, failed)
					}
					if err == nil && failed != "" {
						program.Must(t, command.before(f.at, ctx))
						continue
					}
					after, wantSame := f.schema(t, other), failed != "" || name == "index-search once more" || name == "changes restart"
					if (after == before) != wantSame && !(f.delayed && command.hasSteps && failed != "") {
						t.Fatalf("the schema was\n%s\nand is\n%s\nwhere statement %d fails (%s), with %v", before, after, n, failed, err)
					}
					if err := f.rename(1, fmt.Sprint(n)); err != nil {
						t.Fatalf("the next write: %v", err)
					}
				}
			})
		}
	}
}

// A start of which a statement fails says so, and the next one opens the database. On SQLite GORM asks for two tables once more
// that are not there, and for one to warn of.
func TestNoFailureOfAStartIsHidden(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			f, unheard := &failing.Statements{}, []string{}
			for n, failed := 1, "?"; failed != ""; n++ {
				at := d.failing(t, f)
				at.Fields, at.KeepChanges, at.Logger = plain(), time.Hour, slog.New(slog.DiscardHandler)
				f.Fail(n)
				users, err := at.Open(ctx, 0)
				failed = f.End()
				switch {
				case err == nil:
					program.Must(t, users.Close(ctx))
					unheard = append(unheard, failed)
				case failed == "":
					t.Fatal(err)
				}
				s := &storage{engine: d, at: at, fields: plain()}
				s.Users = s.open(t, 0)
				program.Must(t, errors.Join(s.add(ctx, "n"), s.Close(ctx)))
			}
			if most := map[bool]int{true: 0, false: 3}[d.delayed]; len(unheard)-1 > most {
				t.Errorf("it succeeds although one of these fails: %q", unheard)
			}
		})
	}
}
