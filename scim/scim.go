// Package scim handles the requests of identity providers, which keep the users by SCIM (RFC 7643 and 7644).
package scim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/database"
	"users-api/models"
)

// API handles the endpoints under /scim/v2. Only DELETE of a user is not here: it is [controllers.API.Delete].
type API struct {
	users  *database.Users
	fields models.Fields
	held   map[string]*models.Field // the field that holds an attribute, by its path
}

// NewAPI returns the handlers for the users in a storage.
func NewAPI(users *database.Users, fields models.Fields) *API {
	s := &API{users: users, fields: fields, held: map[string]*models.Field{}}
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

// The errors that only SCIM has.
var (
	errNoSCIM = controllers.NewError("scim_off", "SCIM needs the fields external_id and active: "+
		"run `users-api add-field external_id` and `users-api add-field active`, and add both to USER_FIELDS")
	errNoGroups   = controllers.NewError("groups_refused", "There are no groups: only users can be provisioned")
	errNoSearch   = controllers.NewError("search_refused", "There is no /Me and no /.search: use GET /scim/v2/Users?filter=…")
	errNoUserName = controllers.NewError("field_missing", "userName must be a text that is not empty")
	errFilter     = controllers.NewError("filter_invalid", `A filter must be one of RFC 7644, section 3.4.2.2, such as `+
		`userName eq "ada@example.org", on attributes that a field holds, with at most 50 comparisons and 50 brackets`)
)

// Check refuses every request under /scim/v2 if users lack the fields that SCIM needs, those on groups that are more
// than a list, searches by POST (RFC 7644, section 3.4.3), and /Me (section 3.11).
func (s *API) Check(c *gin.Context) {
	path, reads := c.Request.URL.Path, c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead
	switch {
	case !controllers.IsSCIM(path):
	case s.held["externalId"] == nil || s.held["active"] == nil:
		controllers.Refuse(c, errNoSCIM)
	case strings.HasPrefix(path, controllers.SCIMRoot+"/Groups/"), path == controllers.SCIMRoot+"/Groups" && !reads:
		controllers.Refuse(c, errNoGroups)
	case strings.HasSuffix(path, "/.search"), path == controllers.SCIMRoot+"/Me":
		controllers.Refuse(c, errNoSearch)
	}
}

// list is a response with several resources (RFC 7644, section 3.4.2).
type list struct {
	Schemas      []string `json:"schemas"`
	TotalResults int64    `json:"totalResults"`
	StartIndex   int      `json:"startIndex"`
	ItemsPerPage int      `json:"itemsPerPage"`
	Resources    []any    `json:"Resources"`
}

func newList(total int64, start int, resources []any) list {
	schemas := []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}
	return list{schemas, total, start, len(resources), resources}
}

func send(c *gin.Context, status int, value any) error {
	controllers.Revalidate(c)
	return controllers.SendValue(c, status, controllers.SCIMType, value)
}

// Describe handles GET and HEAD of what describes the service (RFC 7644, section 4): 200 or 404.
func (s *API) Describe(c *gin.Context) error {
	unique, ignoresCase := s.users.Uniqueness()
	document, found := describe(s.held, unique, ignoresCase)[c.Request.URL.Path]
	if !found {
		return controllers.ErrNoPath
	}
	return send(c, http.StatusOK, document)
}

// Groups handles GET and HEAD /scim/v2/Groups: 200. There are none, and a provider that asks must not get an error.
func (s *API) Groups(c *gin.Context) error {
	return send(c, http.StatusOK, newList(0, 1, []any{}))
}

// Get handles GET and HEAD /scim/v2/Users/:id (RFC 7644, section 3.4.1): 200, 404 or 500.
func (s *API) Get(c *gin.Context) error {
	id, ok := controllers.ParseID(c.Param("id"))
	if !ok {
		return models.ErrNotFound
	}
	user, err := s.users.Get(c.Request.Context(), database.Who{ID: id})
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, s.render(&user))
}

// maxPage is how many users a list has at most, and maxBytes how many bytes of JSON, but for the last user: a slow
// reader holds them.
const maxPage, maxBytes = 1000, 512 << 10

// number returns the number that a parameter is, within limits.
func number(parameters url.Values, name string, otherwise, least, most int64) (int, error) {
	value, ok := otherwise, true
	if parameters.Has(name) {
		value, ok = controllers.ParseID(parameters.Get(name))
	}
	if !ok {
		return 0, controllers.NewError("parameter_invalid", "The parameter %s must be a whole number", name)
	}
	return int(min(max(value, least), most)), nil
}

// List handles GET and HEAD /scim/v2/Users (RFC 7644, section 3.4.2): 200, 400 or 500. Without a filter, it has the
// users that have an externalId: a provider that deletes unknown users must not see the others. Other parameters are
// ignored (RFC 7644, section 3.4.2), such as what Entra ID's documents let people end the address with.
func (s *API) List(c *gin.Context) error {
	sent, err := url.ParseQuery(strings.ReplaceAll(c.Request.URL.RawQuery, ";", "%3B"))
	if err != nil || len(sent["filter"]) > 1 {
		return errFilter
	}
	start, err := number(sent, "startIndex", 1, 1, math.MaxInt32)
	limit, failed := number(sent, "count", 100, 0, maxPage)
	where, _ := s.fields.Compare("external_id", models.HasValue, "")
	if sent.Has("filter") && err == nil {
		parsed := parseFilter(sent.Get("filter"))
		where, err = s.condition(parsed, parsed.Expression, "")
	}
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	query := models.Query{Where: models.And{where}, Skip: start - 1, Limit: max(limit, 1), Count: true}
	total, bytes, resources := int64(0), 0, []any{}
	err = s.users.Query(c.Request.Context(), query, func(result database.Result) error {
		total, bytes, resources = result.Total, 0, resources[:0]
		for user, err := range result.Users {
			if err != nil {
				return err
			}
			if limit == 0 || bytes >= maxBytes {
				break
			}
			shown := controllers.ToJSON(s.render(user))
			bytes += len(shown)
			resources = append(resources, json.RawMessage(shown))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send(c, http.StatusOK, newList(total, start, resources))
}

// Create handles POST /scim/v2/Users (RFC 7644, section 3.3): 201, 400, 409 or 500.
func (s *API) Create(c *gin.Context) error {
	sent := resource{}
	if err := c.ShouldBindWith(&sent, controllers.OneObject{}); err != nil {
		return err
	}
	wanted := s.values(sent, nil)
	if err := s.fields.Settle(&wanted, nil); err != nil {
		return err
	}
	if err := s.checkUserName(c.Request.Context(), &wanted.Profile, nil); err != nil {
		return err
	}
	var user models.User // is read in the same transaction: whoever is told that it failed can send it again
	err := s.users.Batch(c.Request.Context(), true, func(ctx context.Context) error {
		id, err := s.users.Create(ctx, wanted.Profile)
		if err == nil {
			user, err = s.users.Get(ctx, database.Who{ID: id})
		}
		return err
	})
	if err != nil {
		return taken(err)
	}
	c.Set(controllers.LoggedWrite, slog.Int64("user", user.ID))
	c.Header("Location", location(user.ID))
	return send(c, http.StatusCreated, s.render(&user))
}

// Put handles PUT /scim/v2/Users/:id (RFC 7644, section 3.5.1): 200, 400, 404, 409 or 500.
func (s *API) Put(c *gin.Context) error {
	sent := resource{}
	if err := c.ShouldBindWith(&sent, controllers.OneObject{}); err != nil {
		return err
	}
	return s.change(c, func(resource) (models.Values, error) { return s.values(sent, nil), nil })
}

// Patch handles PATCH /scim/v2/Users/:id (RFC 7644, section 3.5.2): 200, 400, 404, 409 or 500.
func (s *API) Patch(c *gin.Context) error {
	var sent patch
	if err := c.ShouldBindWith(&sent, controllers.OneObject{}); err != nil {
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
func (s *API) change(c *gin.Context, become func(shown resource) (models.Values, error)) error {
	id, ok := controllers.ParseID(c.Param("id"))
	if !ok {
		return models.ErrNotFound
	}
	for {
		user, err := s.users.Get(c.Request.Context(), database.Who{ID: id})
		if err != nil {
			return err
		}
		wanted, err := become(s.show(&user))
		if err != nil {
			return err
		}
		if err := s.checkUserName(c.Request.Context(), &wanted.Profile, &user); err != nil {
			return err
		}
		wanted.Given = s.fields.Differing(&wanted, &user.Profile) // none: nothing is written
		for field := range s.fields.In(wanted.Given) {
			if stored := field.Value(&user.Profile); stored != nil && *stored == "" && field.Value(&wanted.Profile) == nil {
				wanted.Given &^= field.Bit // SCIM shows neither
			}
		}
		read := models.Values{Given: s.fields.All(), Profile: user.Profile}
		user, err = s.users.Change(c.Request.Context(), database.Who{ID: id}, wanted, func(now models.User) error {
			if s.fields.Differing(&read, &now.Profile) != 0 {
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
		c.Set(controllers.LoggedWrite, slog.Int64("user", id))
		return send(c, http.StatusOK, s.render(&user))
	}
}

// checkUserName refuses a new userName that somebody has: no index holds those that are emails together with the others.
// Two requests at once may both pass.
func (s *API) checkUserName(ctx context.Context, wanted *models.Profile, now *models.User) error {
	name := s.shownName(wanted)
	if now != nil && name == s.shownName(&now.Profile) {
		return nil
	}
	query := models.Query{Where: models.And{s.userName(models.Equal, name)}, Limit: 2}
	return s.users.Query(ctx, query, func(found database.Result) error {
		for user, err := range found.Users {
			if err != nil {
				return err
			}
			if now == nil || user.ID != now.ID { // it may have another letter case of its own email
				return errTaken("userName")
			}
		}
		return nil
	})
}

// errMeanwhile is the refusal of a change, which begins again then. Clients never see it.
var errMeanwhile = errors.New("the user was changed since it was read")

// taken returns the error of a write: 409 if a unique index has refused a value. It names the attribute, if it is one.
func taken(err error) error {
	failure, ok := errors.AsType[*models.StorageError](err)
	if !ok || !failure.Unique {
		return err
	}
	name := "value"
	if failure.Duplicate {
		name = "email"
	}
	for _, known := range attributes {
		if name == "value" && known.field != "" && known.field == failure.Column {
			_, name = splitPath(known.path)
		}
	}
	return errTaken(name)
}

func errTaken(name string) error {
	return controllers.NewError("email_used", "Another user has this %s", name)
}
