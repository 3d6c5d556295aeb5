package linearizability

import (
	"slices"

	"users-api/tests/program"
)

// emails are those that users may have in a history. Few, so that clients meet.
var emails = [...]string{"ada@x", "alan@x", "bob@y", "cleo@y", "dora@z", "emil@z"}

// state is all users, each at the place of its email. An id of 0 means that no client was told the id, and an empty
// time that none was shown it.
type state struct {
	users   [len(emails)]program.User
	settled bool // the history is over: what takes effect later never does
}

func placeOf(email string) int { return slices.Index(emails[:], email) }

func (s *state) add(user program.User) bool {
	at := placeOf(user.Email)
	if at < 0 || s.users[at].Email != "" {
		return false
	}
	s.users[at] = user
	return true
}

// find returns the place of an id, or -1.
func (s *state) find(id int64) int {
	return slices.IndexFunc(s.users[:], func(user program.User) bool { return user.ID == id && user.Email != "" })
}

// shows reports whether a user is the one stored, and notes the id and the time that were not known yet.
func (s *state) shows(shown program.User) bool {
	at := placeOf(shown.Email)
	if at < 0 || s.users[at].Email == "" || s.users[at].Name != shown.Name {
		return false
	}
	stored := &s.users[at]
	if stored.ID == 0 && s.find(shown.ID) < 0 {
		stored.ID = shown.ID
	}
	if stored.CreatedAt == "" {
		stored.CreatedAt = shown.CreatedAt
	}
	return stored.ID == shown.ID && (shown.CreatedAt == "" || stored.CreatedAt == shown.CreatedAt)
}

// selects reports whether a user belongs to a list.
func (q Request) selects(user program.User) bool {
	return user.Email != "" && (q.Email == "" || user.Email == q.Email)
}

// showsList reports whether a list is the right one. A user whose id no client was told yet may be on a page or not.
func (s *state) showsList(q Request, a Answer) bool {
	n := len(a.Users)
	isWrong := func(user program.User) bool { return !q.selects(user) || !s.shows(user) }
	if q.Limit > 0 && n > q.Limit || a.More && n < max(1, q.Limit) || slices.ContainsFunc(a.Users, isWrong) {
		return false
	}
	for i := 1; i < n; i++ {
		if a.Users[i-1].ID >= a.Users[i].ID {
			return false
		}
	}
	left := 0 // of users that come after the page
	for _, user := range s.users {
		isUser := func(shown program.User) bool { return shown.Email == user.Email }
		switch {
		case !q.selects(user) || slices.ContainsFunc(a.Users, isUser):
		case !a.More || user.ID > 0 && user.ID < a.Users[n-1].ID:
			return false
		default:
			left++
		}
	}
	return !a.More || left > 0
}

// step returns the state after a request, and whether the answer is right.
func step(s state, q Request, a Answer) (state, bool) {
	if a.Code == unknown {
		if s.settled {
			return s, true
		}
		after, done := s.write(q, a)
		return after, done && after != s // without an effect it is the same as never
	}
	if s.settled {
		return s, false // nothing else is asked after the end
	}
	if q.writes() {
		return s.write(q, a)
	}
	return s.read(q, a)
}

func (s state) read(q Request, a Answer) (state, bool) {
	right := a.Code == ""
	if q.Action == Get {
		if a.Code == notFound {
			return s, s.find(q.ID) < 0
		}
		return s, right && a.Users[0].ID == q.ID && s.shows(a.Users[0])
	}
	right = right && s.showsList(q, a)
	s.settled = q.Action == Settled
	return s, right
}

// write returns the state after a write, and whether its answer is right: any is, if it is not known.
func (s state) write(q Request, a Answer) (state, bool) {
	switch q.Action {
	case Create:
		return s.create(q, a)
	case Change:
		return s.change(q, a)
	case Remove:
		return s.remove(q, a)
	}
	return s.load(q, a)
}

func (s state) create(q Request, a Answer) (state, bool) {
	if at := placeOf(q.Email); s.users[at].Email != "" {
		return s, a.Code == emailUsed
	}
	created := program.User{ID: q.ID, Name: q.Name, Email: q.Email}
	if a.Code == "" {
		if len(a.Users) != 1 || a.Users[0].Name != q.Name || a.Users[0].Email != q.Email || s.find(a.Users[0].ID) >= 0 {
			return s, false
		}
		created.ID = a.Users[0].ID
	}
	return s, (created.ID == 0 || s.find(created.ID) < 0) && s.add(created) && isDone(a)
}

// isDone reports whether a request was done, as far as is known.
func isDone(a Answer) bool { return a.Code == "" || a.Code == unknown }

// refusal returns the code with which a user's change or removal is refused before it is tried, or "".
func (s *state) refusal(q Request) string {
	at := s.find(q.ID)
	if at < 0 {
		return notFound
	}
	if q.Match.Tag == "" || q.Match.Tag == "*" {
		return ""
	}
	current, wanted := s.users[at], q.Match.User
	if current.CreatedAt == "" {
		current.CreatedAt = wanted.CreatedAt
	}
	if current != wanted {
		return changed
	}
	return ""
}

// learn notes the id of a user that another program wrote to, which needs no id for that.
func (s *state) learn(shown []program.User) {
	for _, user := range shown {
		if at := placeOf(user.Email); at >= 0 && s.users[at].Email != "" && s.users[at].ID == 0 && s.find(user.ID) < 0 {
			s.users[at].ID = user.ID
		}
	}
}

func (s state) change(q Request, a Answer) (state, bool) {
	s.learn(a.Users)
	code := s.refusal(q)
	if code == "" && q.Email != "" {
		if at := placeOf(q.Email); s.users[at].Email != "" && s.users[at].ID != q.ID {
			code = emailUsed
		}
	}
	if code != "" {
		return s, a.Code == code
	}
	from := s.find(q.ID)
	user := s.users[from]
	user.Name = q.Name
	if q.Email != "" {
		user.Email = q.Email
	}
	s.users[from] = program.User{}
	right := s.add(user) && isDone(a)
	if a.Code == "" {
		shown := a.Users[0]
		right = right && shown.ID == q.ID && shown.Email == user.Email && s.shows(shown)
	}
	return s, right
}

func (s state) remove(q Request, a Answer) (state, bool) {
	s.learn(a.Users)
	if code := s.refusal(q); code != "" {
		return s, a.Code == code
	}
	s.users[s.find(q.ID)] = program.User{}
	return s, isDone(a)
}

// load returns the state after an import.
func (s state) load(q Request, a Answer) (state, bool) {
	before, counted := s, imported{}
	for _, row := range q.Rows {
		switch at := placeOf(row.Email); {
		case s.users[at].Email == "":
			s.users[at] = program.User{ID: row.ID, Name: row.Name, Email: row.Email}
			counted.Created++
		case q.OnConflict == "update" && s.users[at].Name != row.Name:
			s.users[at].Name = row.Name
			counted.Updated++
		case q.OnConflict != "fail":
			counted.Skipped++
		default:
			return before, a.Code == rowsRefused
		}
	}
	return s, a.Code == unknown || a.Code == "" && a.imported == counted
}
