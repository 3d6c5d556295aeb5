package linearizability

import (
	"slices"
	"strings"

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

func isNobody(user program.User) bool { return user.Email == "" }

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

func inOrder(users []program.User, descending bool) bool {
	for i := 1; i < len(users); i++ {
		if users[i-1].ID == users[i].ID || users[i-1].ID > users[i].ID != descending {
			return false
		}
	}
	return true
}

// selects reports whether a user belongs to a list. The case of ASCII letters is ignored, and there are no others here.
func (q Request) selects(user program.User) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q.Text)) }
	return user.Email != "" && (q.Email == "" || user.Email == q.Email) && (has(user.Name) || has(user.Email))
}

// showsList reports whether a list is the right one. A user whose id no client was told yet may be on a page or not.
func (s *state) showsList(q Request, a Answer) bool {
	n := len(a.Users)
	isWrong := func(user program.User) bool { return !q.selects(user) || !s.shows(user) }
	if q.Limit > 0 && n > q.Limit || a.More && n < max(1, q.Limit) || !inOrder(a.Users, q.Descending) ||
		slices.ContainsFunc(a.Users, isWrong) {
		return false
	}
	left := 0 // of users that come after the page
	for _, user := range s.users {
		isUser := func(shown program.User) bool { return shown.Email == user.Email }
		switch {
		case !q.selects(user):
		case slices.ContainsFunc(a.Users, isUser):
			if q.After > 0 && !follows(user.ID, q.After, q.Descending) {
				return false
			}
		case user.ID == 0:
			if !a.More && q.After == 0 {
				return false // everyone is on it
			}
			left++
		case q.After > 0 && !follows(user.ID, q.After, q.Descending):
		case !a.More || follows(a.Users[n-1].ID, user.ID, q.Descending):
			return false
		default:
			left++
		}
	}
	return !a.More || left > 0
}

func follows(id, after int64, descending bool) bool {
	if descending {
		return id < after
	}
	return id > after
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
	if q.writes() || q.Action == Import {
		return s.write(q, a)
	}
	return s.read(q, a)
}

func (s state) read(q Request, a Answer) (state, bool) {
	right := a.Code == ""
	switch q.Action {
	case Get:
		if a.Code == notFound {
			return s, s.find(q.ID) < 0
		}
		right = right && a.Users[0].ID == q.ID && s.shows(a.Users[0])
	case Count:
		right = right && a.Total == len(slices.DeleteFunc(slices.Clone(s.users[:]), isNobody))
	default:
		right = right && s.showsList(q, a)
		s.settled = q.Action == Settled
	}
	return s, right
}
