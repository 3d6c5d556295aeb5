package controllers

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"users-api/headers"
	"users-api/models"
)

// Patch handles PATCH /api/users/:id: it changes the fields that are in the body.
func (u *Users) Patch(c *gin.Context) error { return u.change(c, change{}) }

// Put handles PUT /api/users/:id: it requires both fields, and never creates a user.
func (u *Users) Put(c *gin.Context) error { return u.change(c, change{whole: true}) }

// change responds with 200 and the whole user, or with 400, 404, 409, 412 or 500.
func (u *Users) change(c *gin.Context, sent change) error {
	if err := c.ShouldBindWith(&sent, oneObject{}); err != nil {
		return err
	}
	id, ok := parseID(c.Param("id"))
	if !ok {
		return errNoUser
	}
	user, err := u.users.Change(c.Request.Context(), id, sent.Change, both(sent.keeps, ifMatch(c)))
	if isDuplicate(err) {
		return errEmailUsed
	}
	if err != nil {
		return err
	}
	body := models.AppendUser(nil, &user)
	c.Header("ETag", entityTag(body))
	return send(c, http.StatusOK, contentType, body)
}

// Delete handles DELETE /api/users/:id: 204, 404, 412 or 500.
func (u *Users) Delete(c *gin.Context) error {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return errNoUser
	}
	if err := u.users.Delete(c.Request.Context(), id, ifMatch(c)); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// change is the body of PATCH and PUT.
type change struct {
	models.Change
	whole         bool   // both fields are required
	id, createdAt []byte // as they were sent; nil if they were not
}

func (s *change) take(sent object) (err error) {
	var name, email []byte
	for field, value := range sent.fields() {
		switch string(field) {
		case "name":
			name = value
		case "email":
			email = value
		case "id":
			s.id = value
		case "created_at":
			s.createdAt = value
		default:
			return badRequest(`Unknown key "%s": only name and email can be changed`, shorten(string(field)))
		}
	}
	if s.Name, err = s.text("name", name); err != nil {
		return err
	}
	s.Email, err = s.text("email", email)
	return err
}

// text returns the new value of a field, or nil if it does not change.
func (s *change) text(field string, value []byte) (*string, error) {
	if value == nil && !s.whole {
		return nil, nil
	}
	to, err := text(field, value)
	if err == nil && to == "" {
		err = errRequired
	}
	return &to, err
}

// keeps refuses an id or created_at that differs from the user's. Clients send back what they have read, so equal
// values are accepted.
func (s *change) keeps(user models.User) error {
	if s.id != nil && string(s.id) != strconv.FormatInt(user.ID, 10) {
		return errFixed
	}
	if s.createdAt == nil {
		return nil
	}
	if s.createdAt[0] != '"' || decodeText(s.createdAt) != user.CreatedAt {
		return errFixed
	}
	return nil
}

// ifMatch returns the condition that a request sets for a write, or nil if there is none (RFC 9110, section 13.1.1).
// The comparison is strong: a weak tag does not identify an exact state.
func ifMatch(c *gin.Context) models.Condition {
	tags := c.Request.Header.Values("If-Match")
	if len(tags) == 0 {
		return nil
	}
	return func(current models.User) error {
		tag := entityTag(models.AppendUser(nil, &current))
		for candidate := range headers.Elements(tags) {
			if candidate == tag || candidate == "*" {
				return nil
			}
		}
		return &Error{Status: http.StatusPreconditionFailed, Message: "The user was changed since you read it", tag: tag}
	}
}

// both returns a condition that holds if the first one does and the second, if there is one.
func both(first, second models.Condition) models.Condition {
	if second == nil {
		return first
	}
	return func(current models.User) error {
		if err := first(current); err != nil {
			return err
		}
		return second(current)
	}
}
