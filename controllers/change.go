package controllers

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"users-api/models"
)

// Patch handles PATCH /api/users/:id: it changes the fields that are in the body.
func (a *API) Patch(c *gin.Context) error {
	return a.change(c, sentChange{sentUser: sentUser{fields: a.settable}, all: a.fields})
}

// Put handles PUT /api/users/:id: it changes all fields, and creates a user if nobody has the email in the path.
func (a *API) Put(c *gin.Context) error {
	return a.change(c, sentChange{sentUser: sentUser{fields: a.settable}, all: a.fields, whole: true})
}

// change responds with 200 or 201 and the whole user, or with 400, 404, 409, 412 or 500.
func (a *API) change(c *gin.Context, sent sentChange) error {
	who, ok := parseWho(c)
	sent.byEmail = who.Email != ""
	if err := c.ShouldBindWith(&sent, OneObject{}); err != nil {
		return err
	}
	if !ok {
		return models.ErrNotFound
	}
	var user models.User
	var err error
	ctx, allow, created := c.Request.Context(), sent.precondition(a.matches(c)), false
	switch {
	case !sent.whole || !sent.byEmail:
		user, err = a.users.Change(ctx, who, sent.Values, allow)
	case !utf8.ValidString(who.Email):
		err = NewError("field_invalid", "The email in the path is not UTF-8 text")
	default:
		user, created, err = a.users.Put(ctx, who.Email, sent.Values, allow, func() error {
			switch {
			case len(c.Request.Header.Values("If-Match")) > 0:
				return errNobody
			case len(sent.fixed) > 0: // only the service gives a new user an id and a time
				return errFixed(a.fields)
			}
			return nil
		})
	}
	if err != nil {
		return valueUsed(err, a.fields)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		c.Header("Location", strconv.FormatInt(user.ID, 10)) // relative to the URL of the request, as that of a POST
	}
	return a.sendWritten(c, status, &user)
}

// sendWritten responds to a write with the user as it is after it.
func (a *API) sendWritten(c *gin.Context, status int, user *models.User) error {
	c.Set(LoggedWrite, slog.Int64("user", user.ID))
	body := a.fields.AppendUser(nil, user)
	c.Header("ETag", entityTag(body))
	return send(c, status, contentType, body)
}

// Delete handles DELETE /api/users/:id, and that of /scim/v2/Users/:id: 204, 404, 409, 412 or 500.
func (a *API) Delete(c *gin.Context) error {
	who, ok := parseWho(c)
	if !ok {
		return models.ErrNotFound
	}
	id, err := a.users.Delete(c.Request.Context(), who, a.matches(c))
	if err != nil {
		return err
	}
	c.Set(LoggedWrite, slog.Int64("user", id))
	c.Status(http.StatusNoContent)
	return nil
}

// sentChange is the body of PATCH and PUT.
type sentChange struct {
	sentUser
	all     models.Fields             // those that a client may not set, too
	whole   bool                      // a field that is not sent becomes NULL
	byEmail bool                      // but the email in the path stays
	fixed   map[string]jsontext.Value // what was sent for an id or a time
}

// UnmarshalJSON takes an object, and refuses what cannot be changed.
func (s *sentChange) UnmarshalJSON(object []byte) error {
	for key, value := range Members(object) {
		switch {
		case key == "id", s.all.IsTime(key):
			if s.fixed == nil {
				s.fixed = map[string]jsontext.Value{}
			}
			s.fixed[key] = value.Clone()
		case s.fields.Find(key) == nil:
			return NewError("field_unknown", `Unknown key "%s": only %s can be changed`, Shorten(key),
				join(s.fields.Names(), "and"))
		}
	}
	err := s.sentUser.UnmarshalJSON(object)
	for _, field := range s.fields {
		if s.whole && !s.Given.Has(field) && !(s.byEmail && field.Name == "email") {
			s.SetNull(field)
		}
		if err == nil && field.Required && s.Given.Has(field) && *field.Value(&s.Profile) == "" {
			err = errRequired(s.fields.RequiredNames())
		}
	}
	return err
}

// precondition refuses what If-Match and If-None-Match refuse, and an id or a time that differs from the user's. Clients
// send back what they have read, so equal values are accepted.
func (s *sentChange) precondition(match models.Precondition) models.Precondition {
	if len(s.fixed) == 0 {
		return match
	}
	return func(user models.User) error {
		if match != nil {
			if err := match(user); err != nil {
				return err
			}
		}
		for column, sent := range s.fixed {
			isSame := string(sent) == s.all.Text(&user, column)
			if column != "id" {
				isSame = sent.Kind() == '"' && Decoded(sent) == s.all.Text(&user, column)
			}
			if !isSame {
				return errFixed(s.all)
			}
		}
		return nil
	}
}

// matches returns the precondition that a request has for a write, or nil if there is none (RFC 9110, section 13.2.2).
// If-Match compares strongly: a weak tag does not identify an exact state.
func (a *API) matches(c *gin.Context) models.Precondition {
	lines := c.Request.Header.Values("If-Match")
	sent, others := elements(lines), elements(c.Request.Header.Values("If-None-Match"))
	if len(lines) == 0 && len(others) == 0 {
		return nil
	}
	return func(current models.User) error {
		tag := entityTag(a.fields.AppendUser(nil, &current))
		refuse := func(why string, arguments ...any) error {
			refusal := NewError("changed_meanwhile", why, arguments...)
			refusal.tag = tag
			return refusal
		}
		switch isMatch := len(lines) == 0 || isAny(sent) || slices.Contains(sent, tag); {
		case !isMatch && hasLike(sent, tag):
			return refuse("The user is as you read it, but a proxy that compresses has rewritten its ETag: send If-Match: %s, "+
				"and let the proxy leave JSON uncompressed", tag)
		case !isMatch:
			return refuse("The user was changed since you read it")
		case isAny(others):
			return refuse("The user exists already, and If-None-Match: * only creates one")
		case hasLike(others, tag):
			return refuse("The user has the ETag that If-None-Match names")
		}
		return nil
	}
}
