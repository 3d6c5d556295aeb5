package routes

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// Access says who may call the API, and under which host names. Its zero value gives anyone full access.
type Access struct {
	// Keys and ReadKeys are the SHA-256 sums of the keys with full access, and of those with read-only access.
	Keys, ReadKeys [][sha256.Size]byte
	// Hosts are the names in lower case, and IP addresses, that requests may be for. If empty, any host is allowed.
	Hosts []string
}

// checkHost refuses requests for other hosts. A page whose name was made to resolve to this machine (DNS rebinding)
// passes the protection against other sites, because its Origin and Host agree.
func (a Access) checkHost(c *gin.Context) {
	if c.Request.URL.Path == "/health" {
		return
	}
	if host, allowed := a.allowsHost(c.Request); !allowed {
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

const keyAccess = "key access" // names the value in a request's context that says what its key may do

// checkKey refuses requests under /api/ that have no key, an invalid key, or a key that does not allow them. It checks
// the path and not the route, so that a client without a key cannot find out which paths exist.
func (a Access) checkKey(c *gin.Context) {
	if len(a.Keys) == 0 || !strings.HasPrefix(c.Request.URL.Path, "/api/") {
		return
	}
	controllers.KeepPrivate(c, "Authorization, X-API-Key")
	access, refusal := a.judge(c.Request)
	c.Set(keyAccess, access)
	if access != "" {
		c.Header("X-API-Key-Access", access) // so that a client need not try a write to learn what its key may do
	}
	if refusal != nil {
		c.Header("WWW-Authenticate", challenges[refusal])
		if refusal.Status == http.StatusUnauthorized {
			c.Writer.Header().Del("Allow") // Gin sets it for a path that has other methods
		}
		controllers.Refuse(c, refusal)
	}
}

// challenges say how to get access after each refusal of judge (RFC 6750, section 3).
var challenges = map[*controllers.Error]string{
	controllers.ErrNoKey:    `Bearer realm="users-api"`,
	controllers.ErrWrongKey: `Bearer realm="users-api", error="invalid_token"`,
	controllers.ErrReadKey:  `Bearer realm="users-api", error="insufficient_scope"`,
}

// judge returns what the keys of a request may do ("full", "read", or "" if they are invalid), and why the request is
// refused, or nil. Every key that was sent must be valid, and the weakest one counts: sending two different keys is a
// mistake, which must be noticed instead of guessing which key was meant.
func (a Access) judge(request *http.Request) (access string, refusal *controllers.Error) {
	sent := sentKeys(request.Header)
	if len(sent) == 0 {
		return "", controllers.ErrNoKey
	}
	access = "full"
	for _, key := range sent {
		sum := sha256.Sum256([]byte(key))
		full, read := contains(a.Keys, sum), contains(a.ReadKeys, sum)
		if !full && !read {
			return "", controllers.ErrWrongKey
		}
		if !full {
			access = "read"
		}
	}
	if access == "read" && !onlyReads(request) {
		return access, controllers.ErrReadKey
	}
	return access, nil
}

// sentKeys returns the keys of a request. It ignores an Authorization header with another scheme: a proxy may ask for
// its own password and pass it on.
func sentKeys(header http.Header) (keys []string) {
	for _, line := range header.Values("Authorization") {
		scheme, key, _ := strings.Cut(line, " ")
		if key = strings.TrimLeft(key, " "); strings.EqualFold(scheme, "Bearer") && key != "" {
			keys = append(keys, key)
		}
	}
	for _, key := range header.Values("X-API-Key") {
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// contains compares every sum, so that the time it takes does not reveal which one matched.
func contains(sums [][sha256.Size]byte, sum [sha256.Size]byte) bool {
	found := 0
	for _, one := range sums {
		found |= subtle.ConstantTimeCompare(one[:], sum[:])
	}
	return found == 1
}

// onlyReads reports whether a request changes nothing: GET, HEAD, and the dry run of an import.
func onlyReads(request *http.Request) bool {
	if !bringsFile(request) {
		return request.Method == http.MethodGet || request.Method == http.MethodHead
	}
	query, err := url.ParseQuery(request.URL.RawQuery)
	return err == nil && slices.Equal(query["dry_run"], []string{"true"})
}
