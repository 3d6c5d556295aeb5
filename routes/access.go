package routes

import (
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
	Keys   *config.Keyring // those that clients need; nil if they need none
	People *config.People  // those whom a proxy names; nil where no proxy has a key
	Hosts  []string        // the names in lower case, and IP addresses, that requests may be for; none allows any host
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
		controllers.Refuse(c, controllers.NewError("host_refused", `This service does not answer for the host "%s"`,
			controllers.Shorten(host)))
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

// identity returns the headers that say who sent a request.
func (a Access) identity() []string {
	headers := []string{"Authorization", "X-API-Key"}
	if a.People != nil {
		headers = append(headers, a.People.Header, a.People.GroupsHeader)
	}
	return headers
}

// checkKey refuses requests under /api/ and /scim/v2 that have no key, an invalid key, or a key that does not allow
// them. It checks the path and not the route, so that a client without a key cannot find out which paths exist.
func (a Access) checkKey(c *gin.Context) {
	path := c.Request.URL.Path
	if !strings.HasPrefix(path, "/api/") && !controllers.IsSCIM(path) {
		return
	}
	c.Header("Cache-Control", controllers.KeptPrivate)
	c.Header("Vary", strings.Join(a.identity(), ", "))
	caller, refusal := a.judge(c.Request)
	c.Set(controllers.CallerKey, caller)
	if caller.Access != "" {
		c.Header("X-API-Key-Access", caller.Access) // a client need not try a write to learn what it may do
	}
	if caller.Access == "read" {
		if !onlyReads(c.Request) {
			refusal = caller.RefuseWrite()
		}
		c.Request = c.Request.WithContext(database.OnlyReads(c.Request.Context()))
	}
	if refusal != nil {
		// How to get access after each refusal (RFC 6750, section 3).
		challenge := `Bearer realm="users-api"`
		switch {
		case caller.Access != "":
			challenge = controllers.NeedsFullAccess
		case refusal.IsOfKey():
			challenge += `, error="invalid_token"`
		}
		c.Header("WWW-Authenticate", challenge)
		if refusal.Status() == http.StatusUnauthorized {
			c.Writer.Header().Del("Allow") // Gin sets it for a path that has other methods
		}
		controllers.Refuse(c, refusal)
	}
}

// judge returns who sent a request, or why nobody knows. A proxy with a key of its own names a person, unless a program
// brings its own key through it: a Bearer that is no key of ours is for somebody else, as proxies pass theirs on.
func (a Access) judge(request *http.Request) (controllers.Caller, *controllers.Error) {
	bearers, named := sentKeys(request.Header)
	isKnown := func(text string) bool { _, found := a.Keys.Find(text); return found }
	var proxy config.Key
	if len(slices.Compact(slices.Clone(named))) == 1 {
		proxy, _ = a.Keys.Find(named[0])
	}
	switch {
	case !proxy.Proxy || proxy.Ended(time.Now()):
		return a.judgeKeys(bearers, named)
	case slices.ContainsFunc(bearers, isKnown):
		return a.judgeKeys(bearers, nil)
	}
	person, problem := a.People.Person(request.Header)
	if problem != "" {
		return controllers.Caller{Key: proxy.Name}, controllers.NewError("no_person", "%s", problem)
	}
	access := "read"
	if a.People.MayWrite(person, request.Header) {
		access = "full"
	}
	return controllers.Caller{Key: proxy.Name, Person: person, Access: access}, nil
}

// judgeKeys returns the program that sent keys. Every key must be valid, and the weakest one counts: sending two different
// keys is a mistake, which must be noticed instead of guessing which key was meant.
func (a Access) judgeKeys(bearers, named []string) (controllers.Caller, *controllers.Error) {
	sent, now := slices.Concat(bearers, named), time.Now()
	if len(sent) == 0 {
		return controllers.Caller{}, controllers.ErrNoKey
	}
	var weakest controllers.Caller
	for i, text := range sent {
		key, found := a.Keys.Find(text)
		if !found || key.Proxy || key.Ended(now) {
			refusal := controllers.ErrWrongKey
			switch isBearer := i < len(bearers); {
			case isBearer && len(named) > 0:
				refusal = controllers.ErrWrongBearer
			case !isBearer && len(bearers) > 0:
				refusal = controllers.ErrWrongHeader
			}
			return controllers.Caller{Key: key.Name}, refusal // the log names a key that has ended
		}
		if !key.Full {
			weakest = controllers.Caller{Key: key.Name, Access: "read"}
		} else if i == 0 {
			weakest = controllers.Caller{Key: key.Name, Access: "full"}
		}
	}
	return weakest, nil
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
	isEmpty := func(key string) bool { return key == "" }
	return bearers, slices.DeleteFunc(slices.Clone(header.Values("X-API-Key")), isEmpty)
}

// nameAuthor lets what a request writes be recorded under the name of its caller.
func nameAuthor(c *gin.Context) {
	if c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		return
	}
	by := controllers.CallerOf(c).Author()
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
