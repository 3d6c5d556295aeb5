package controllers

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// SCIM handles the endpoints under /scim/v2, by which identity providers keep the users (RFC 7644). Only DELETE of a
// user is not here: it is [API.Delete].
type SCIM struct {
	users  *models.Users
	fields models.Fields
	held   map[string]*models.Field // the field that holds an attribute, by its path
}

// NewSCIM returns the handlers for the users in a storage.
func NewSCIM(users *models.Users, fields models.Fields) *SCIM {
	s := &SCIM{users: users, fields: fields, held: map[string]*models.Field{}}
	for _, attribute := range attributes {
		if field := fields.Find(attribute.field); field != nil {
			s.held[attribute.path] = field
		}
	}
	if s.held["userName"] == nil {
		s.held["userName"] = fields.Find("email")
	}
	return s
}

const (
	scimRoot = "/scim/v2"
	scimType = "application/scim+json"
)

// IsSCIM reports whether a URL path belongs to SCIM.
func IsSCIM(path string) bool { return path == scimRoot || strings.HasPrefix(path, scimRoot+"/") }

// Check refuses every request under /scim/v2 if users lack the fields that SCIM needs, those on groups that are more
// than a list, searches by POST (RFC 7644, section 3.4.3), and /Me (section 3.11).
func (s *SCIM) Check(c *gin.Context) {
	const groups = scimRoot + "/Groups"
	path, reads := c.Request.URL.Path, c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
	switch {
	case !IsSCIM(path):
	case s.held["externalId"] == nil || s.held["active"] == nil:
		Refuse(c, errNoSCIM)
	case strings.HasPrefix(path, groups+"/"), path == groups && !reads:
		Refuse(c, errNoGroups)
	case strings.HasSuffix(path, "/.search"):
		Refuse(c, errNoSearch)
	case path == scimRoot+"/Me":
		Refuse(c, errNoMe)
	}
}

// scimErrors are the words of RFC 7644, section 3.12, by the codes of errors. Other errors have none.
var scimErrors = map[string]string{
	"body_invalid":      "invalidSyntax",
	"email_used":        "uniqueness",
	"field_invalid":     "invalidValue",
	"field_missing":     "invalidValue",
	"field_read_only":   "mutability",
	"field_unknown":     "invalidPath",
	"filter_invalid":    "invalidFilter",
	"parameter_invalid": "invalidValue",
}

// scimError is an error as RFC 7644, section 3.12, describes it.
type scimError struct {
	Schemas  []string `json:"schemas"`
	Status   string   `json:"status"`
	SCIMType string   `json:"scimType,omitempty"`
	Detail   string   `json:"detail"`
}

func newSCIMError(refusal *Error) scimError {
	schemas := []string{"urn:ietf:params:scim:api:messages:2.0:Error"}
	return scimError{schemas, strconv.Itoa(refusal.Status()), scimErrors[refusal.code], refusal.Message}
}

// scimList is a response with several resources (RFC 7644, section 3.4.2).
type scimList struct {
	Schemas      []string `json:"schemas"`
	TotalResults int64    `json:"totalResults"`
	StartIndex   int      `json:"startIndex"`
	ItemsPerPage int      `json:"itemsPerPage"`
	Resources    []any    `json:"Resources"`
}

func newSCIMList(total int64, start int, resources []any) scimList {
	schemas := []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}
	return scimList{schemas, total, start, len(resources), resources}
}

func sendSCIM(c *gin.Context, status int, value any) error {
	revalidate(c)
	return sendValue(c, status, scimType, value)
}

// Describe handles GET and HEAD of what describes the service (RFC 7644, section 4): 200, 404 or 500.
func (s *SCIM) Describe(c *gin.Context) error {
	unique, ignoresCase, err := s.users.Uniqueness(c.Request.Context())
	if err != nil {
		return err
	}
	document, found := describe(s.held, unique, ignoresCase)[c.Request.URL.Path]
	if !found {
		return ErrNoPath
	}
	return sendSCIM(c, http.StatusOK, document)
}

// Groups handles GET and HEAD /scim/v2/Groups: 200. There are none, and a provider that asks must not get an error.
func (s *SCIM) Groups(c *gin.Context) error {
	return sendSCIM(c, http.StatusOK, newSCIMList(0, 1, []any{}))
}

// Get handles GET and HEAD /scim/v2/Users/:id (RFC 7644, section 3.4.1): 200, 404 or 500.
func (s *SCIM) Get(c *gin.Context) error {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return errNoUser
	}
	user, err := s.users.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	return sendSCIM(c, http.StatusOK, s.render(&user))
}

// scimPage is how many users a list has at most, and scimBytes how many bytes of JSON, but for the last user: a slow
// reader holds them.
const (
	scimPage  = 1000
	scimBytes = 512 << 10
)

// scimNumber returns the number that a parameter is, within limits.
func scimNumber(parameters url.Values, name string, otherwise, least, most int64) (int, error) {
	number, ok := otherwise, true
	if parameters.Has(name) {
		number, ok = parseID(parameters.Get(name))
	}
	if !ok {
		return 0, newError("parameter_invalid", "The parameter %s must be a whole number", name)
	}
	return int(min(max(number, least), most)), nil
}

// List handles GET and HEAD /scim/v2/Users (RFC 7644, section 3.4.2): 200, 400 or 500. Without a filter, it has the
// users that have an externalId: a provider that deletes unknown users must not see the others. Other parameters are
// ignored (RFC 7644, section 3.4.2), such as what Entra ID's documents let people end the address with.
func (s *SCIM) List(c *gin.Context) error {
	sent, err := url.ParseQuery(strings.ReplaceAll(c.Request.URL.RawQuery, ";", "%3B"))
	if err != nil || len(sent["filter"]) > 1 {
		return errFilter
	}
	start, err := scimNumber(sent, "startIndex", 1, 1, math.MaxInt32)
	limit, failed := scimNumber(sent, "count", 100, 0, scimPage)
	where, _ := s.fields.Compare("external_id", models.HasValue, "")
	if sent.Has("filter") && err == nil {
		parsed := parseFilter(sent.Get("filter"))
		where, err = s.condition(parsed, parsed.Expression, "")
	}
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	query, resources := models.Query{Where: models.And{where}}, []any{}
	page, bytes := query, 0
	page.Skip, page.Limit = start-1, max(limit, 1)
pages:
	for users, err := range s.users.Select(c.Request.Context(), page) {
		if err != nil {
			return err
		}
		for i := range users {
			if limit == 0 || bytes >= scimBytes {
				break pages
			}
			user, err := toJSON(s.render(&users[i]))
			if err != nil {
				return err
			}
			bytes += len(user)
			resources = append(resources, json.RawMessage(user))
		}
	}
	total := int64(len(resources))
	if start > 1 || len(resources) == limit || bytes >= scimBytes { // there may be others
		if total, err = s.users.Count(c.Request.Context(), query); err != nil {
			return err
		}
	}
	return sendSCIM(c, http.StatusOK, newSCIMList(total, start, resources))
}

// Create handles POST /scim/v2/Users (RFC 7644, section 3.3): 201, 400, 409 or 500.
func (s *SCIM) Create(c *gin.Context) error {
	sent := resource{}
	if err := c.ShouldBindWith(&sent, oneObject{}); err != nil {
		return err
	}
	id, err := s.users.Create(c.Request.Context(), s.values(sent, nil).User)
	if err != nil {
		return taken(err)
	}
	c.Set(Written, slog.Int64("user", id))
	user, err := s.users.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.Header("Location", location(id))
	return sendSCIM(c, http.StatusCreated, s.render(&user))
}

// Put handles PUT /scim/v2/Users/:id (RFC 7644, section 3.5.1): 200, 400, 404, 409 or 500.
func (s *SCIM) Put(c *gin.Context) error {
	sent := resource{}
	if err := c.ShouldBindWith(&sent, oneObject{}); err != nil {
		return err
	}
	return s.change(c, func(resource) (models.Values, error) { return s.values(sent, nil), nil })
}

// Patch handles PATCH /scim/v2/Users/:id (RFC 7644, section 3.5.2): 200, 400, 404, 409 or 500.
func (s *SCIM) Patch(c *gin.Context) error {
	var sent patch
	if err := c.ShouldBindWith(&sent, oneObject{}); err != nil {
		return err
	}
	return s.change(c, func(shown resource) (models.Values, error) {
		changed := maps.Clone(shown)
		for _, attribute := range []string{"active", "displayName", "name.formatted"} {
			delete(changed, attribute) // it counts only if it is sent
		}
		if err := sent.apply(changed); err != nil {
			return models.Values{}, err
		}
		return s.values(changed, shown), nil
	})
}

// change gives a user the values that become of what is shown of it, and responds. If another request changes the user
// between the two, it begins again, so that neither change is lost.
func (s *SCIM) change(c *gin.Context, become func(shown resource) (models.Values, error)) error {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return errNoUser
	}
	for {
		user, err := s.users.Get(c.Request.Context(), id)
		if err != nil {
			return err
		}
		wanted, err := become(s.show(&user))
		if err != nil {
			return err
		}
		wanted.Fields = s.fields.Differing(&wanted, &user.NewUser) // none: nothing is written
		read := models.Values{Fields: s.fields.All(), User: user.NewUser}
		user, err = s.users.Change(c.Request.Context(), id, wanted, func(now models.User) error {
			if s.fields.Differing(&read, &now.NewUser) != 0 {
				return errMeanwhile
			}
			return nil
		})
		switch {
		case errors.Is(err, errMeanwhile):
			continue
		case err != nil:
			return taken(err)
		}
		c.Set(Written, slog.Int64("user", id))
		return sendSCIM(c, http.StatusOK, s.render(&user))
	}
}

// errMeanwhile is the refusal of a change, which begins again then. Clients never see it.
var errMeanwhile = errors.New("the user was changed since it was read")

// taken returns the error of a write: 409 if a unique index has refused a value.
func taken(err error) error {
	if failure, ok := errors.AsType[*models.StorageError](err); ok && failure.Unique {
		return errTaken
	}
	return err
}
