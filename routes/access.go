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

// Access says who may call the API, and by which name of this service. Its zero value lets everybody in.
type Access struct {
	// Keys and ReadKeys are the SHA-256 sums of the keys that may do everything, and of those that may only read.
	Keys, ReadKeys [][sha256.Size]byte
	// Hosts are the hosts that requests may be for: names in lower case, and IP addresses. None allows any.
	Hosts []string
}

// checkHost refuses requests for another host. A page whose name is made to resolve to this machine (DNS rebinding)
// passes the protection against other sites, because its Origin and Host agree.
func (a Access) checkHost(c *gin.Context) {
	if c.Request.URL.Path == "/health" {
		return
	}
	if host, allowed := a.allowsHost(c.Request); !allowed {
		controllers.Refuse(c, controllers.WrongHost(host))
	}
}

// allowsHost returns the host that a request is for, and whether this service answers for it.
func (a Access) allowsHost(request *http.Request) (host string, allowed bool) {
	host = (&url.URL{Host: request.Host}).Hostname() // without a port, and without the brackets of IPv6
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if address, err := netip.ParseAddr(name); err == nil {
		name = address.String() // one address has many spellings
	}
	return host, len(a.Hosts) == 0 || slices.Contains(a.Hosts, name)
}

// keyAccess is where the context of a request has what its key may do.
const keyAccess = "key access"

// checkKey refuses requests under /api/ that have no key, a wrong one, or one that may not do what they ask for. It
// looks at the path and not at the route, so that without a key nobody learns which paths there are.
func (a Access) checkKey(c *gin.Context) {
	if len(a.Keys) == 0 || !strings.HasPrefix(c.Request.URL.Path, "/api/") {
		return
	}
	controllers.KeepPrivate(c, "Authorization, X-API-Key")
	access, refusal := a.judge(c.Request)
	c.Set(keyAccess, access)
	if access != "" {
		c.Header("X-API-Key-Access", access) // clients need not try a write to learn what a key may do
	}
	if refusal != nil {
		if refusal.Status == http.StatusUnauthorized {
			c.Header("WWW-Authenticate", "Bearer")
			c.Writer.Header().Del("Allow") // Gin sets it for a path that knows other methods
		}
		controllers.Refuse(c, refusal)
	}
}

// judge returns what the keys of a request may do ("full", "read", or "" where they are not valid), and why the request
// is refused, or nil. Every key that was sent must be valid, and the weakest of them counts: two that differ are a
// mistake, which is better found than guessed at.
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

// sentKeys returns the keys of a request. An Authorization of another scheme is somebody else's: a proxy may ask for a
// password of its own and pass it on.
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

// contains looks at every sum, so that the time it takes says nothing of which one it was.
func contains(sums [][sha256.Size]byte, sum [sha256.Size]byte) bool {
	found := 0
	for _, one := range sums {
		found |= subtle.ConstantTimeCompare(one[:], sum[:])
	}
	return found == 1
}

// onlyReads reports whether a request changes nothing: GET, HEAD, and an import that is only tried.
func onlyReads(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		isImport := request.URL.Path == "/api/users.csv" || request.URL.Path == "/api/users.ndjson"
		query, err := url.ParseQuery(request.URL.RawQuery)
		return isImport && err == nil && slices.Equal(query["dry_run"], []string{"true"})
	}
	return false
}
