package routes

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/config"
	"users-api/controllers"
	"users-api/database"
)

// Access says who may call the API, and under which host names. Its zero value gives anyone full access.
type Access struct {
	// Keys are those that clients need. If nil, they need none.
	Keys *config.Keyring
	// Hosts are the names in lower case, and IP addresses, that requests may be for. If empty, any host is allowed.
	Hosts []string
}

// secure refuses writes that a browser sends on behalf of another site, and keeps browsers from guessing content types.
// Programs send neither Origin nor Sec-Fetch-Site and are not affected.
func secure(c *gin.Context) {
	c.Header("X-Content-Type-Options", "nosniff")
	if new(http.CrossOriginProtection).Check(c.Request) != nil {
		controllers.Refuse(c, controllers.ErrCrossSite)
	}
}

// checkHost refuses requests for other hosts. A page whose name was made to resolve to this machine (DNS rebinding)
// passes the protection against other sites, because its Origin and Host agree.
func (a Access) checkHost(c *gin.Context) {
	if host, allowed := a.allowsHost(c.Request); !allowed && c.Request.URL.Path != "/health" {
		controllers.Refuse(c, controllers.WrongHost(host))
	}
}

// allowsHost returns the host that a request is for, and whether this service accepts requests for it.
func (a Access) allowsHost(request *http.Request) (host string, allowed bool) {
	host = (&url.URL{Host: request.Host}).Hostname() // without a port, and without the brackets of IPv6
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if address, err := netip.ParseAddr(name); err == nil {
		name = address.String() // one address has many spellings
	}
	return host, len(a.Hosts) == 0 || slices.Contains(a.Hosts, name)
}

// caller is what the keys of a request say about its client.
type caller struct {
	name   string // of the key, if it has one
	access string // "full", "read", or "" without a valid key
}

const callerKey = "caller" // names the caller in a request's context, where a key is needed

// checkKey refuses requests under /api/ and /scim/v2 that have no key, an invalid key, or a key that does not allow
// them. It checks the path and not the route, so that a client without a key cannot find out which paths exist.
func (a Access) checkKey(c *gin.Context) {
	path := c.Request.URL.Path
	if !strings.HasPrefix(path, "/api/") && !controllers.IsSCIM(path) {
		return
	}
	c.Header("Cache-Control", controllers.KeptPrivate)
	c.Header("Vary", "Authorization, X-API-Key")
	caller, refusal := a.judge(c.Request)
	c.Set(callerKey, caller)
	if caller.access == "read" {
		c.Request = c.Request.WithContext(database.OnlyReads(c.Request.Context()))
	}
	if caller.access != "" {
		c.Header("X-API-Key-Access", caller.access) // a client need not try a write to learn what its key may do
	}
	if refusal != nil {
		c.Header("WWW-Authenticate", challenges[refusal])
		if refusal.Status() == http.StatusUnauthorized {
			c.Writer.Header().Del("Allow") // Gin sets it for a path that has other methods
		}
		controllers.Refuse(c, refusal)
	}
}

// challenges say how to get access after each refusal of judge (RFC 6750, section 3).
var challenges = map[*controllers.Error]string{
	controllers.ErrNoKey:       `Bearer realm="users-api"`,
	controllers.ErrWrongKey:    `Bearer realm="users-api", error="invalid_token"`,
	controllers.ErrWrongBearer: `Bearer realm="users-api", error="invalid_token"`,
	controllers.ErrWrongHeader: `Bearer realm="users-api", error="invalid_token"`,
	controllers.ErrReadKey:     controllers.NeedsFullAccess,
}

// judge returns who sent a request, and why it is refused now, or nil. Every key that was sent must be valid, and the
// weakest one counts: sending two different keys is a mistake, which must be noticed instead of guessing which key was
// meant.
func (a Access) judge(request *http.Request) (caller, *controllers.Error) {
	if a.Keys == nil {
		return caller{}, nil
	}
	bearers, named := sentKeys(request.Header)
	sent := slices.Concat(bearers, named)
	if len(sent) == 0 {
		return caller{}, controllers.ErrNoKey
	}
	now := time.Now()
	var weakest config.Key
	for i, text := range sent {
		key, found := a.Keys.Find(text)
		if !found || key.Ended(now) {
			refusal := controllers.ErrWrongKey
			switch isBearer := i < len(bearers); {
			case isBearer && len(named) > 0:
				refusal = controllers.ErrWrongBearer
			case !isBearer && len(bearers) > 0:
				refusal = controllers.ErrWrongHeader
			}
			return caller{name: key.Name}, refusal // the log names a key that has ended
		}
		if i == 0 || !key.Full {
			weakest = key
		}
	}
	if weakest.Full {
		return caller{weakest.Name, "full"}, nil
	}
	if !onlyReads(request) {
		return caller{weakest.Name, "read"}, controllers.ErrReadKey
	}
	return caller{weakest.Name, "read"}, nil
}

// sentKeys returns the keys of a request in Authorization and in X-API-Key. It ignores an Authorization header with
// another scheme: a proxy may ask for its own password and pass it on.
func sentKeys(header http.Header) (bearers, named []string) {
	for _, line := range header.Values("Authorization") {
		scheme, key, _ := strings.Cut(line, " ")
		if key = strings.TrimLeft(key, " "); strings.EqualFold(scheme, "Bearer") && key != "" {
			bearers = append(bearers, key)
		}
	}
	for _, key := range header.Values("X-API-Key") {
		if key != "" {
			named = append(named, key)
		}
	}
	return bearers, named
}

// nameAuthor lets what a request writes be recorded under the name of its key.
func nameAuthor(c *gin.Context) {
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		return
	}
	by := ""
	if caller, ok := c.Value(callerKey).(caller); ok {
		by = "key:" + cmp.Or(caller.name, "API_KEY")
	}
	ctx := database.WithAuthor(c.Request.Context(), by, c.Writer.Header().Get("X-Request-Id"))
	c.Request = c.Request.WithContext(ctx)
}

// onlyReads reports whether a request changes nothing: GET, HEAD, the dry run of an import, and a batch, whose requests
// are judged one by one.
func onlyReads(request *http.Request) bool {
	switch path := request.URL.Path; {
	case request.Method == http.MethodGet, request.Method == http.MethodHead:
		return true
	case request.Method != http.MethodPost:
		return false
	case path == csvPath, path == ndjsonPath:
		query, err := url.ParseQuery(request.URL.RawQuery)
		return err == nil && slices.Equal(query["dry_run"], []string{"true"})
	default:
		return path == batchPath
	}
}
