package database_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/database"
	"users-api/models"
	"users-api/routes"
	"users-api/tests/failing"
	"users-api/tests/program"
)

// Each request is sent with its first statement failing, then with its second, and so on: an error that is not passed on is an
// answer that says that something was done which was not. Each command and each start is tried in the same way.

// failingStorage is one with three users, and one who was deleted, whose statements fail.
type failingStorage struct {
	*storage
	statements *failing.Statements
}

func (d engine) openFailing(t testing.TB, fields models.Fields) failingStorage {
	t.Helper()
	f := failingStorage{statements: &failing.Statements{}}
	f.storage = d.openAt(t, d.failing(t, f.statements), fields)
	for _, name := range []string{"Ada", "Alan", "Grace", "Edsger"} {
		email := strings.ToLower(name) + "@x"
		profile := models.Profile{Name: name, Email: email}
		if field := fields.Find("external_id"); field != nil {
			field.Set(&profile, email)
		}
		_, err := f.Create(ctx, profile)
		program.Must(t, err)
	}
	program.Must(t, f.remove(4))
	return f
}

// serveFailing serves such a storage within this process.
func (d engine) serveFailing(t *testing.T) (*program.Program, failingStorage) {
	t.Helper()
	f := d.openFailing(t, slices.Concat(plain(), models.NewFields("external_id", "active")[len(models.NewFields()):]))
	figures := routes.NewMetrics("v1", "abc", f.Users, time.Now)
	served := routes.Service{Users: f.Users, Metrics: figures, Logger: slog.New(slog.DiscardHandler), ImportMax: 1 << 20,
		ChangesKeep: time.Hour}
	accept, err := net.Listen("tcp", "127.0.0.1:0")
	program.Must(t, err)
	stop, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- served.Prepare(stop)(accept) }()
	t.Cleanup(func() { end(); program.Must(t, <-ended) })
	return program.At("http://" + accept.Addr().String()), f
}

const (
	three = "Ada ada@x, Alan alan@x, Grace grace@x"
	// renamed are they when the second has another name.
	renamed = "Ada ada@x, Zoe alan@x, Grace grace@x"
	csvPath = "POST /api/users.csv"
	scim    = "/scim/v2/Users"
	added   = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"%s@x","displayName":"Zoe"}`
	patch   = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],` +
		`"Operations":[{"op":"replace","path":"displayName","value":"Zoe"}]}`
	again = "an import whose statement is refused goes on row by row"
	unset = "GORM's driver of SQLite does not say that a savepoint was not set, which is needed only if the step fails, too"
)

var requests = []struct {
	request, body string
	status        int
	want          string
	stored        string // the users then, if they are others than before
	heals         string // says why it may succeed, as a whole, although a statement has failed
}{
	{"GET /api/users", "", 200, `[{"id":1,…},{"id":2,…},{"id":3,…}]`, "", ""},
	{"GET /api/users?limit=2&count=true", "", 200, `[{"id":1,…},{"id":2,…}]`, "", ""},
	{"GET /api/users?sort=name&order=desc&limit=2&count=true", "", 200, `[{"id":3,…},{"id":2,…}]`, "", ""},
	{"GET /api/users?q=rac&count=true", "", 200, `[{"id":3,…}]`, "", ""},
	{"GET /api/users?email=alan@x", "", 200, `[{"id":2,…}]`, "", ""},
	{"GET /api/users/2", "", 200, `{"id":2,…}`, "", ""},
	{"GET /api/users/alan@x", "", 200, `{"id":2,…}`, "", ""},
	{"GET /api/users/nobody@x", "", 404, "…", "", ""},
	{"GET /api/users.csv", "", 200, "id,…\r\n1,…\r\n2,…\r\n3,…\r\n", "", ""},
	{"GET /api/users.ndjson?q=a&count=true", "", 200, "{\"id\":1,…}\n{\"id\":2,…}\n{\"id\":3,…}\n", "", ""},
	{"GET /api/changes", "", 200, `{"changes":[…`, "", ""},
	{"GET /api/users/2/changes", "", 200, `{"changes":[{…"op":"created","id":2,…}]}`, "", ""},
	{"GET /api/users/alan@x/changes", "", 200, `{"changes":[{…"op":"created","id":2,…}]}`, "", ""},
	{"GET /api/users/nobody@x/changes", "", 404, "…", "", ""},
	{"GET /api/users/deleted?q=edsger", "", 200, `[{"id":4,…}]`, "", ""},
	{"DELETE /api/users/4/changes", "", 204, "", "", ""},
	{"DELETE /api/users/alan@x/changes", "", 204, "", "", ""},
	{"POST /api/users/4/restore", "", 201, `{"id":4,…`, three + ", Edsger edsger@x", ""},
	{"POST /api/users", `{"name":"Zoe","email":"zoe@x"}`, 201, `{…"email":"zoe@x",…}`, three + ", Zoe zoe@x", ""},
	{"PATCH /api/users/2", `{"name":"Zoe"}`, 200, `{"id":2,"name":"Zoe",…`, renamed, ""},
	{"PATCH /api/users/2\nIf-Match: *", `{"name":"Zoe"}`, 200, `{"id":2,"name":"Zoe",…`, renamed, ""},
	{"PATCH /api/users/alan@x", `{"name":"Zoe"}`, 200, `{"id":2,"name":"Zoe",…`, renamed, ""},
	{"PATCH /api/users/2", `{}`, 200, `{"id":2,…`, "", ""},
	{"PUT /api/users/2", `{"name":"Zoe","email":"alan@x"}`, 200, `{"id":2,"name":"Zoe",…`, renamed, ""},
	{"PUT /api/users/alan@x", `{"name":"Zoe"}`, 200, `{"id":2,"name":"Zoe",…`, renamed, ""},
	{"PUT /api/users/zoe@x", `{"name":"Zoe"}`, 201, `{…"email":"zoe@x",…}`, three + ", Zoe zoe@x", ""},
	{"DELETE /api/users/2", "", 204, "", "Ada ada@x, Grace grace@x", ""},
	{"DELETE /api/users/2\nIf-Match: *", "", 204, "", "Ada ada@x, Grace grace@x", ""},
	{"DELETE /api/users/alan@x", "", 204, "", "Ada ada@x, Grace grace@x", ""},
	{"DELETE /api/users/nobody@x", "", 404, "…", "", ""},
	{csvPath, "name,email\nZoe,zoe@x\nBen,ben@x\n", 200, program.Imported(2, 0, 0, 0), three + ", Zoe zoe@x, Ben ben@x", again},
	{csvPath + "?on_conflict=skip", "name,email\nZoe,ada@x\nBen,ben@x\n", 200, program.Imported(1, 0, 1, 0), three + ", Ben ben@x", again},
	{csvPath + "?on_conflict=update", "name,email\nZoe,alan@x\nBen,ben@x\nEve,ben@x\n", 200, program.Imported(1, 2, 0, 0),
		renamed + ", Eve ben@x", again},
	{csvPath + "?on_conflict=update&on_missing=delete&max_deletes=2", "name,email\nAda,ada@x\n", 200,
		`{"created":0,"updated":0,"skipped":1,"deleted":2,…`, "Ada ada@x", again},
	{csvPath + "?on_conflict=update&on_missing=delete&max_deletes=1", "name,email\nAda,ada@x\n", 422, "…", "", again},
	{csvPath, "name,email\nZoe,zoe@x\nBen,ada@x\nEve,eve@x\n", 422, `…"line":3,…`, "", again},
	{"POST /api/users.ndjson?on_conflict=update&dry_run=true", `{"name":"Zoe","email":"alan@x"}`, 200, program.Imported(0, 1, 0, 0), "", again},
	{"POST /api/users/batch", `{"requests":[{"method":"GET","path":"/api/users/2"},{"method":"GET","path":"/api/users?limit=2"}]}`, 200,
		`{"responses":[{"status":200,…},{"status":200,…}]}`, "", unset},
	{"GET " + scim, "", 200, `{…"totalResults":3,…}`, "", ""},
	{"GET " + scim + "?count=0", "", 200, `{…"totalResults":3,…}`, "", ""},
	{"GET " + scim + "?filter=userName%20eq%20%22alan@x%22", "", 200, `{…"totalResults":1,…}`, "", ""},
	{"GET " + scim + "/2", "", 200, `{…"id":"2",…}`, "", ""},
	{"POST " + scim, fmt.Sprintf(added, "zoe"), 201, `{…"userName":"zoe@x"}`, three + ", Zoe zoe@x", unset},
	{"PUT " + scim + "/2", fmt.Sprintf(added, "alan"), 200, `{…"id":"2",…}`, renamed, ""},
	{"PATCH " + scim + "/2", patch, 200, `{…"id":"2",…}`, renamed, ""},
	{"DELETE " + scim + "/2", "", 204, "", "Ada ada@x, Grace grace@x", ""},
}

// failure is what SQLite and PostgreSQL say of a statement that fails, and of what follows it in its transaction. Where an
// import cannot take back a row that was refused, it is why this was.
var failure = regexp.MustCompile(`authoriz|this statement fails|transaction is aborted|UNIQUE constraint failed|violates unique constraint`)

// A request of which a statement fails is answered with the error of the database, and never with a part of an answer, or as if
// nobody were found. It has stored nothing, and spoils nothing.
func TestNoFailureOfAStatementIsHidden(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		for _, test := range requests {
			t.Run(d.name+": "+test.request, func(t *testing.T) {
				t.Parallel()
				lines := strings.Split(test.request, "\n")
				method, path, _ := strings.Cut(lines[0], " ")
				p, f := d.serveFailing(t)
				for n, failed := 1, "?"; failed != ""; n++ {
					f.statements.Fail(n)
					answer := p.Do(t, method, path, test.body, lines[1:]...)
					failed = f.statements.End()
					isDone := answer.Status == test.status && !failure.MatchString(answer.Body)
					endsRead := test.stored == "" && strings.Contains(failed, "commit") // of what is read already
					want := three
					switch {
					case isDone && (failed == "" || test.heals != "" || endsRead):
						answer.Expect(t, test.status, test.want)
						want = cmp.Or(test.stored, three)
					case failed == "" || !failure.MatchString(answer.Body):
						t.Errorf("it is answered %d %s", answer.Status, answer.Body)
					default: // which has no header of what would have been sent
						for _, name := range []string{"Content-Disposition", "Link", "X-Total-Count", "ETag", "Changes-Cursor", "Location"} {
							program.ExpectHeader(t, answer, name, "")
						}
					}
					program.Expect(t, "the users", f.users(t), want)
					if t.Failed() {
						t.Fatalf("where statement %d fails (%s)", n, failed)
					}
					if want != three && failed != "" {
						p, f = d.serveFailing(t)
					}
					p.Delete(t, p.Create(t, "n", "after"))
				}
			})
		}
	}
}

// What a batch says of each request is what is stored, whichever statement fails: one that fails leaves nothing behind.
func TestABatchHasStoredWhatItSays(t *testing.T) {
	t.Parallel()
	const batch = `{"requests":[{"method":"POST","path":"/api/users","body":{"name":"Zoe","email":"zoe@x"}},` +
		`{"method":"PATCH","path":"/api/users/2","headers":{"If-Match":"*"},"body":{"name":"Zoe"}},` +
		`{"method":"DELETE","path":"/api/users/3"},{"method":"POST","path":"/api/users/4/restore"}]}`
	statuses := regexp.MustCompile(`"status":(\d+)`)
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p, f := d.serveFailing(t)
			for n, failed := 1, "?"; failed != ""; n++ {
				f.statements.Fail(n)
				answer := p.Do(t, "POST", "/api/users/batch", batch)
				failed = f.statements.End()
				stored, said := [4]bool{}, [4]bool{}
				for i, status := range statuses.FindAllStringSubmatch(answer.Body, -1) {
					said[i] = status[1] < "300"
				}
				for i, part := range []string{"Zoe zoe", "Zoe alan", "Grace", "Edsger"} {
					stored[i] = strings.Contains(f.users(t), part) != (part == "Grace")
				}
				if stored != said || failed == "" && said != [4]bool{true, true, true, true} {
					t.Fatalf("done is %v, where statement %d fails (%s): %s", stored, n, failed, answer.Body)
				}
				if answer.Status == 200 {
					p, f = d.serveFailing(t)
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
		users = append(users, user.Name+" "+user.Email)
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

func adding(field string, unique bool) command {
	return func(at database.Location, ctx context.Context) error { return at.AddFields(ctx, unique, field) }
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
			"add-field":              {nil, adding("room", false), false, ""},
			"add-field updated_at":   {nil, adding(models.UpdatedAt, false), false, ""},
			"add-field --unique":     {nil, adding("room", true), true, ""},
			"ignore-email-case":      {nil, database.Location.IgnoreEmailCase, true, ""},
			"index-search":           {nil, database.Location.IndexSearch, true, ""},
			"index-search --drop":    {database.Location.IndexSearch, database.Location.DropSearchIndex, false, shadow},
			"index-search once more": {database.Location.IndexSearch, database.Location.IndexSearch, true, shadow},
		} {
			t.Run(d.name+": "+name, func(t *testing.T) {
				t.Parallel()
				f := d.openFailing(t, plain())
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
					after, wantSame := f.schema(t, other), failed != "" || name == "index-search once more"
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
				s.Users = s.open(t)
				program.Must(t, errors.Join(s.add(ctx, "n"), s.Close(ctx)))
			}
			if most := map[bool]int{true: 0, false: 3}[d.delayed]; len(unheard)-1 > most {
				t.Errorf("it succeeds although one of these fails: %q", unheard)
			}
		})
	}
}
