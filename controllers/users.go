// Package controllers answers the requests: HTTP in, one call into models, HTTP out. Each handler returns an error
// for what it refuses, and [Handle] alone turns errors into answers.
package controllers

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Users answers the endpoints under /api/users (specification, section 4).
type Users struct {
	users *models.Users
}

// NewUsers returns the handlers for the users in a database.
func NewUsers(users *models.Users) *Users { return &Users{users: users} }

// created is the answer to a creation: what was submitted, with its new id.
type created struct {
	ID int64 `json:"id"`
	models.NewUser
}

// Create answers POST /api/users: 201, 400 or 500.
func (u *Users) Create(c *gin.Context) error {
	var user models.NewUser
	if err := c.ShouldBindWith(&user, oneObject{}); err != nil {
		return err
	}
	id, err := u.users.Create(c.Request.Context(), user)
	if err != nil {
		return err
	}
	answer(c, http.StatusCreated, created{id, user})
	return nil
}

// Delete answers DELETE /api/users/:id: 204, 404 or 500.
func (u *Users) Delete(c *gin.Context) error {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != c.Param("id") {
		return errNoUser // "01", "+1" and "1.0" are nobody's id as the API writes it
	}
	if err := u.users.Delete(c.Request.Context(), id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// List answers GET and HEAD /api/users: 200, 304 or 500.
func (u *Users) List(c *gin.Context) error {
	list, err := u.users.List(c.Request.Context())
	if err != nil {
		return err
	}
	c.Header("Cache-Control", "no-cache") // keep it, and ask each time whether it still holds
	c.Header("Content-Type", contentType)
	if list == nil {
		return u.stream(c)
	}
	defer list.Release()
	etag := `"` + list.Version() + `"`
	c.Header("ETag", etag)
	if matches(c.Request.Header.Values("If-None-Match"), etag) {
		c.Status(http.StatusNotModified)
		return nil
	}
	c.Header("Content-Length", strconv.Itoa(list.Length()))
	for _, chunk := range list.Chunks() {
		if _, err := c.Writer.Write(chunk); err != nil {
			break // the client went away
		}
	}
	return nil
}

// stream sends a list that is too large to be kept. When it fails after its first byte the connection is broken
// off, so that no cut list looks whole.
func (u *Users) stream(c *gin.Context) error {
	for piece, err := range u.users.Stream(c.Request.Context()) {
		if err != nil && !c.Writer.Written() {
			return err
		}
		if err != nil {
			_ = c.Error(err)
			panic(http.ErrAbortHandler)
		}
		if _, err := c.Writer.Write(piece); err != nil || c.Request.Method == http.MethodHead {
			return nil // the client went away, or wants no body
		}
	}
	return nil
}

// matches reports whether If-None-Match headers name the entity tag (RFC 9110, section 13.1.2).
func matches(headers []string, etag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}
