package database_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"users-api/database"
	"users-api/models"
)

// Whatever is done, also by another program, what can be read is what a plain model says. rapid prints the shortest sequence
// of actions that fails.
func TestTheUsersAreThoseOfAPlainModel(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) { newMachine(t, r, d).run(r) })
		})
	}
}

// machine does random things to a storage and to a plain model of it, and compares the two.
type machine struct {
	*storage
	another     *sql.DB // another program; nil if there is none
	process     *database.Users
	model       map[int64]models.User
	feed        *follower // nil: changes are not recorded
	ignoresCase bool
	others      int // how many users the other program has created
}

func newMachine(t *testing.T, r *rapid.T, d engine) *machine {
	m := &machine{model: map[int64]models.User{}, ignoresCase: rapid.Bool().Draw(r, "ignores case")}
	var commands []command
	if m.ignoresCase {
		commands = append(commands, database.Location.IgnoreEmailCase)
	}
	if rapid.Bool().Draw(r, "searches have an index") {
		commands = append(commands, database.Location.IndexSearch)
	}
	isRecorded := rapid.Bool().Draw(r, "changes are recorded")
	if isRecorded {
		commands = append(commands, database.Location.RecordChanges)
	}
	n := rapid.SampledFrom([]int{0, 1, models.MaxAdded}).Draw(r, "added fields")
	m.storage = d.open(t, models.NewFields(addedNames[:n]...), commands...)
	if isRecorded {
		m.feed = m.follower(t)
	}
	if rapid.Bool().Draw(r, "beside another program") {
		m.another = m.other(t, m.at)
	}
	m.process = m.storage.open(t, rapid.SampledFrom([]int{0, 100_000, 8 << 20}).Draw(r, "list memory"))
	return m
}

func (m *machine) run(r *rapid.T) {
	actions := map[string]func(*rapid.T){
		"":       m.compare,
		"create": m.create, "create many": m.createMany, "change": m.change, "delete": m.delete,
		"select": m.selectSome, "one": m.one, "import": m.importSome, "by email": m.byEmail,
	}
	if m.another != nil {
		maps.Copy(actions, map[string]func(*rapid.T){
			"another creates": m.anotherCreates, "another changes": m.anotherChanges, "another deletes": m.anotherDeletes,
		})
	}
	if m.feed != nil {
		actions["prune"] = func(r *rapid.T) { m.feed.expect(r, m.sorted()); m.prune(r, later()) }
	}
	r.Repeat(actions)
	if m.another != nil {
		_ = m.another.Close()
	}
	if err := errors.Join(m.process.Close(ctx), m.Close(ctx)); err != nil {
		r.Fatal(err)
	}
}

// compare compares the lists of two processes, and the copy of a client that follows the feed, with the model.
func (m *machine) compare(r *rapid.T) {
	want := m.json(m.sorted())
	for _, users := range []*database.Users{m.Users, m.process} {
		if got, _ := list(r, users); got != want {
			r.Fatalf("the list is\n%.2000s\nwant\n%.2000s", got, want)
		}
	}
	if m.feed != nil && !(m.delayed && rapid.Bool().Draw(r, "follows later")) {
		m.feed.expect(r, m.sorted())
	}
}

func (m *machine) sorted() []models.User { return sorted(m.model) }

// sorted returns users by ascending id.
func sorted(users map[int64]models.User) []models.User {
	return slices.SortedFunc(maps.Values(users), func(a, b models.User) int { return cmp.Compare(a.ID, b.ID) })
}

// json is users as an array: FuzzAppendText compares each with what encoding/json makes of it.
func (m *machine) json(all []models.User) string {
	var users []string
	for _, user := range all {
		users = append(users, string(m.fields.AppendUser(nil, &user)))
	}
	return "[" + strings.Join(users, ",") + "]"
}

// text returns what a user may have as a name, or in another field: short, odd, and so long that a page of them is large.
func (m *machine) text(r *rapid.T, label string) string {
	text := rapid.OneOf(
		rapid.StringN(1, 10, -1),
		rapid.SampledFrom([]string{"Ada", "\x1f", "\x00", `"`, `\`, "<&>", "\u2028", "%", "_", "abc", "aBcd", "?", "@name", "$1", "NULL",
			`x","email":"user1`, strings.Repeat("long", 50_000), "ada", "ÄDA", "ada \u0301", "ad\U0001F600", "ad\uffff",
			strings.Repeat("é", 200), strings.Repeat("é", 200) + "A", strings.Repeat("é", 199) + "a"}),
	).Draw(r, label)
	if m.noNUL {
		text = strings.ReplaceAll(text, "\x00", "NUL")
	}
	return text
}

func anEmail(r *rapid.T) string {
	return rapid.SampledFrom([]string{"user", "User", `"\user`, "éuser", "ÉUser"}).Draw(r, "letters") + fmt.Sprint(rapid.IntRange(0, 20).Draw(r, "email"))
}

// addedNames are names of fields that a setting may add: keywords, names that statements use, and the longest that there
// may be.
var addedNames = []string{"group", "select", "from", "ordinality", "n", "u", "users", "rowid", "oid", "values", "set",
	"where", "table", "user", "default", "null", "text", "unnest", "returning", "excluded", "old", "new", "collate",
	"updated_at", "deleted_at", "ids", "emails", "i", "l", "c", "column1", "a_name_of_40_characters_which_is_the_most"}

// someAdded returns values for a few of the added fields.
func (m *machine) someAdded(r *rapid.T) (values models.Values) {
	added := slices.DeleteFunc(slices.Clone(m.fields), func(field *models.Field) bool { return !field.Added })
	if len(added) == 0 {
		return values
	}
	for range rapid.IntRange(0, 3).Draw(r, "values") {
		field := rapid.SampledFrom(added).Draw(r, "field")
		if values.SetNull(field); rapid.Bool().Draw(r, "is text") {
			values.Set(field, rapid.SampledFrom([]string{"", m.text(r, "value")}).Draw(r, "or empty"))
		}
	}
	return values
}

// any returns a user of the model, and skips the action when there is none.
func (m *machine) any(r *rapid.T) models.User {
	if len(m.model) == 0 {
		r.Skip("there are no users")
	}
	return m.model[rapid.SampledFrom(slices.Sorted(maps.Keys(m.model))).Draw(r, "id")]
}

// sameEmail returns what two emails have in common if one user at most may have them.
func (m *machine) sameEmail(email string) string {
	if m.ignoresCase {
		return models.LowerASCII(email)
	}
	return email
}

// taken reports whether another user of the model than the one with the id has an email.
func (m *machine) taken(email string, id int64) bool {
	for _, user := range m.model {
		if m.sameEmail(user.Email) == m.sameEmail(email) && user.ID != id {
			return true
		}
	}
	return false
}

func (m *machine) create(r *rapid.T) {
	user := with(m.fields, models.Profile{Name: m.text(r, "name"), Email: anEmail(r)}, m.someAdded(r))
	id, err := m.Create(ctx, user)
	m.note(r, id, user, err)
}

// note notes a user with the time that storage gave it. If it was not created, its email was taken.
func (m *machine) note(r *rapid.T, id int64, user models.Profile, err error) {
	if (err != nil) != m.taken(user.Email, -1<<63) {
		r.Fatalf("creating %s: %v", user.Email, err)
	}
	if err != nil {
		return
	}
	stored, err := m.Get(ctx, database.Who{ID: id})
	if _, given := m.model[id]; given || err != nil || stored.ID != id || !m.sameValues(stored.Profile, user) {
		r.Fatalf("%d, given before: %t, is %.200v, %v", id, given, stored, err)
	}
	m.model[id] = stored
}

// createMany creates users at once in two processes, so that they share commits.
func (m *machine) createMany(r *rapid.T) {
	n, before := rapid.IntRange(1, 100).Draw(r, "n"), len(m.model)
	ids, errs := make([]int64, n), make([]error, n)
	user := func(i int) models.Profile {
		return models.Profile{Name: "n", Email: fmt.Sprintf("many%d-%d", before, i)}
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { ids[i], errs[i] = []*database.Users{m.Users, m.process}[i%2].Create(ctx, user(i)) })
	}
	wait.Wait()
	for i, id := range ids {
		m.note(r, id, user(i), errs[i])
	}
}

func (m *machine) change(r *rapid.T) {
	user, change := m.any(r), m.someAdded(r)
	if rapid.Bool().Draw(r, "changes the name") {
		change.Set(m.fields.Find("name"), m.text(r, "name"))
	}
	if rapid.Bool().Draw(r, "changes the email") {
		change.Set(m.fields.Find("email"), anEmail(r))
	}
	user.Profile = with(m.fields, user.Profile, change)
	got, err := m.Change(ctx, database.Who{ID: user.ID}, change, nil)
	switch {
	case m.taken(user.Email, user.ID):
		if err == nil {
			r.Fatalf("two users have the email %s", user.Email)
		}
	case err != nil || !m.same(got, user):
		r.Fatalf("the change returned %.200v, %v, want %.200v", got, err, user)
	default:
		m.model[user.ID] = user
	}
}

func (m *machine) delete(r *rapid.T) {
	user := m.any(r)
	if err := m.remove(user.ID); err != nil {
		r.Fatal(err)
	}
	delete(m.model, user.ID)
}

func (m *machine) anotherCreates(r *rapid.T) {
	m.others++
	user, ids := models.Profile{Name: "another", Email: fmt.Sprint("another", m.others)}, "email"
	value := "'" + user.Email + "'"
	if rapid.Bool().Draw(r, "with a low id") {
		ids, value = "email, id", value+", (SELECT coalesce(min(id), 1) - 2000 FROM users)"
	}
	var id int64
	row := m.another.QueryRow("INSERT INTO users (name, " + ids + ") VALUES ('another', " + value + ") RETURNING id")
	err := row.Scan(&id)
	m.note(r, id, user, err)
}

func (m *machine) anotherChanges(r *rapid.T) {
	user, field := m.any(r), rapid.SampledFrom(m.fields).Draw(r, "field")
	if field.Unique {
		r.Skip("another user may have the email")
	}
	run(r, m.another, fmt.Sprintf(`UPDATE users SET "%s" = 'changed' WHERE id = %d`, field.Name, user.ID))
	user.Profile = with(m.fields, user.Profile, values(m.fields, field.Name, "changed"))
	m.model[user.ID] = user
}

func (m *machine) anotherDeletes(r *rapid.T) {
	id := m.any(r).ID
	run(r, m.another, fmt.Sprintf("DELETE FROM users WHERE id = %d", id))
	delete(m.model, id)
}

// one compares a user, or none, with the model.
func (m *machine) one(r *rapid.T) {
	id := rapid.OneOf(rapid.Int64Range(-2, 50), rapid.Int64()).Draw(r, "id")
	got, err := m.Get(ctx, database.Who{ID: id})
	if user, exists := m.model[id]; exists && (err != nil || !m.same(got, user)) || !exists && !errors.Is(err, models.ErrNotFound) {
		r.Fatalf("%d is %.500v, %v; the user exists: %t", id, got, err, exists)
	}
}

// byEmail compares the user with an email with the model.
func (m *machine) byEmail(r *rapid.T) {
	email := anEmail(r)
	want := slices.DeleteFunc(m.sorted(), func(u models.User) bool { return m.sameEmail(u.Email) != m.sameEmail(email) })
	got := selected(r, m.process, models.Query{Where: m.hasEmail(email), Limit: 1})
	if m.json(got) != m.json(want) {
		r.Fatalf("%q is the email of %.2000v, want %.2000v", email, got, want)
	}
}

func (m *machine) selectSome(r *rapid.T) {
	where, matches := conditions{m.storage, m.ignoresCase, m.sorted()}.draw(r, 3)
	query := models.Query{
		Where:      models.And{where},
		Sort:       rapid.SampledFrom(append([]string{""}, m.fields.Names()...)).Draw(r, "sort"),
		Skip:       rapid.IntRange(0, 3).Draw(r, "skip"),
		Limit:      rapid.IntRange(0, 10).Draw(r, "limit"),
		Descending: rapid.Bool().Draw(r, "descending"),
	}
	want := slices.DeleteFunc(m.sorted(), func(user models.User) bool { return !matches(user) })
	n, err := m.Count(ctx, query)
	others, failed := m.Count(ctx, models.Query{Where: models.And{models.Not{Condition: where}}})
	if n != int64(len(want)) || n+others != int64(len(m.model)) || err != nil || failed != nil {
		r.Fatalf("%+v: %d and %d others are counted, want %d of %d, %v, %v", query, n, others, len(want), len(m.model), err, failed)
	}
	slices.SortFunc(want, m.inOrder(query.Sort))
	if query.Descending {
		slices.Reverse(want)
	}
	if len(want) > 0 && rapid.Bool().Draw(r, "after") {
		at := rapid.IntRange(0, len(want)-1).Draw(r, "at")
		query.After, want = new(m.place(want[at], query.Sort)), want[at+1:]
	}
	want = want[min(len(want), query.Skip):]
	if query.Limit > 0 {
		want = want[:min(len(want), query.Limit)]
	}
	if got := selected(r, m.process, query); !slices.EqualFunc(got, want, m.same) {
		r.Fatalf("%+v: got %.500v, want %.500v", query, got, want)
	}
}

// inOrder compares two users in the ascending order of a sort.
func (m *machine) inOrder(sort string) func(a, b models.User) int {
	return func(a, b models.User) int {
		return cmp.Or(cmp.Compare(m.place(a, sort).Key, m.place(b, sort).Key), cmp.Compare(a.ID, b.ID))
	}
}

// place is where a user stands in the order of a sort: both databases compare folded texts byte by byte.
func (m *machine) place(user models.User, sort string) models.Place {
	place := models.Place{ID: user.ID}
	if sort != "" {
		value := cmp.Or(m.fields.Find(sort).Value(&user.Profile), new(string))
		text, _, _ := strings.Cut(models.Fold(*value), "\x00") // SQLite reads no further
		characters := []rune(text)
		place.Key = string(characters[:min(len(characters), 200)])
	}
	return place
}

// importSome imports random rows with random options, and compares with what the model says of them.
func (m *machine) importSome(r *rapid.T) {
	row := rapid.Custom(func(r *rapid.T) models.Values {
		values := m.someAdded(r)
		values.Set(m.fields.Find("name"), m.text(r, "name"))
		values.Set(m.fields.Find("email"), anEmail(r))
		return values
	})
	rows := rapid.SliceOfN(row, 0, 20).Draw(r, "rows")
	options := database.ImportOptions{
		DryRun:     rapid.Bool().Draw(r, "dry run"),
		OnConflict: rapid.SampledFrom([]database.Conflict{database.ConflictFails, skips, updates}).Draw(r, "on conflict"),
		MaxDeletes: rapid.IntRange(0, 40).Draw(r, "max deletes"),
	}
	options.DeleteMissing = options.OnConflict == updates && rapid.Bool().Draw(r, "delete missing")
	after, want, refused := m.imported(rows, options)
	done, err := m.Import(ctx, lines(rows), options)
	if refusals(err) != refused || err == nil && !reflect.DeepEqual(done, want) {
		r.Fatalf("%+v: got %+v, %q, want %+v, %q", options, done, refusals(err), want, refused)
	}
	if err == nil && !options.DryRun {
		m.noteImported(r, after)
	}
}

// imported returns the users after an import, by what their emails have in common.
func (m *machine) imported(rows []models.Values, options database.ImportOptions) (
	after map[string]models.User, done database.Imported, refused string,
) {
	after, inFile := map[string]models.User{}, map[string]bool{}
	for _, user := range m.model {
		after[m.sameEmail(user.Email)] = user
	}
	var refusals []string
	for i, row := range rows {
		email := m.sameEmail(row.User.Email)
		inFile[email] = true
		user, exists := after[email]
		changed := with(m.fields, user.Profile, row)
		changed.Email = user.Email
		switch {
		case !exists:
			after[email] = models.User{Profile: with(m.fields, models.Profile{}, row)}
			done.Created++
		case options.OnConflict == database.ConflictFails && user.CreatedAt == "":
			refusals = append(refusals, fmt.Sprint(i+2, " repeated"))
		case options.OnConflict == database.ConflictFails:
			refusals = append(refusals, fmt.Sprint(i+2, " duplicate"))
		case options.OnConflict == skips || m.sameValues(changed, user.Profile):
			done.Skipped++
		default:
			user.Profile = changed
			after[email] = user
			done.Updated++
		}
	}
	if len(refusals) > 0 || !options.DeleteMissing {
		return after, done, strings.Join(refusals, ", ")
	}
	done.DeletedUsers = []database.DeletedUser{}
	for _, user := range m.sorted() {
		if !inFile[m.sameEmail(user.Email)] {
			delete(after, m.sameEmail(user.Email))
			if done.Deleted++; done.Deleted <= models.MaxListed {
				done.DeletedUsers = append(done.DeletedUsers, database.DeletedUser{ID: user.ID, Email: user.Email})
			}
		}
	}
	if done.Deleted > options.MaxDeletes {
		refused = fmt.Sprintf("%d of %d deletes: %v", done.Deleted, options.MaxDeletes, done.DeletedUsers)
	}
	return after, done, refused
}

// noteImported notes the users with the ids and times that storage gave them.
func (m *machine) noteImported(r *rapid.T, after map[string]models.User) {
	before := m.model
	m.model = map[int64]models.User{}
	for _, user := range selected(r, m.Users, models.Query{}) {
		want, exists := after[m.sameEmail(user.Email)]
		if want.CreatedAt == "" { // from the file: storage gives it its id and its time
			_, given := before[user.ID]
			exists = exists && !given
			want.ID, want.CreatedAt = user.ID, user.CreatedAt
		}
		if !exists || !m.same(user, want) {
			r.Fatalf("%.200v is stored, want %.200v", user, want)
		}
		m.model[user.ID] = user
	}
	if len(m.model) != len(after) {
		r.Fatalf("%d users are stored, want %d", len(m.model), len(after))
	}
}
