package routes

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"users-api/config"
)

const (
	keyA, keyB = "full-key-aaaaaaaaaaaa", "full-key-bbbbbbbbbbbb"
	readKey    = "read-key-cccccccccccc"

	problemType = "application/problem+json"

	noKey    = `{"error":"An API key is needed"}`
	wrongKey = `{"error":"The API key is not valid"}`
	onlyRead = `{"error":"This API key can only read"}`
	required = `{"error":"Name and email are required"}`
)

// locked asks for a key, of which two may do everything.
func locked() Access {
	return Access{Keys: config.NewKeyring(config.Keys{
		sha256.Sum256([]byte(keyA)):    {Full: true},
		sha256.Sum256([]byte(keyB)):    {Full: true},
		sha256.Sum256([]byte(readKey)): {},
	})}
}

var (
	allMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"}
	apiPaths   = []string{
		"/api/users", "/api/users?limit=1", "/api/users/1", "/api/users.csv", "/api/users.ndjson?dry_run=false", "/api/",
		"/api/nothing", "/api/users/", "/api//users", "/api/users/1/2", "/%61pi/users", "/api/users?X-API-Key=" + keyA,
	}
)

// everyRequest calls ask with each method on each path under /api/.
func everyRequest(ask func(method, path string)) {
	for _, path := range apiPaths {
		for _, method := range allMethods {
			ask(method, path)
		}
	}
}

func TestAFullKeyIsAnsweredAsWithoutKeysAndNoCacheSharesIt(t *testing.T) {
	t.Parallel()
	open, closed := start(t), startFor(t, locked())
	open.create(t, "Ada", "ada@example.org")
	closed.create(t, "Ada", "ada@example.org")
	everyRequest(func(method, path string) {
		t.Run(method+" "+path, func(t *testing.T) {
			want, got := open.do(t, method, path, "{}"), closed.do(t, method, path, "{}", "X-API-Key: "+keyB)
			if got.status != want.status || got.body != want.body {
				t.Errorf("answered %d %s, want %d %s", got.status, got.body, want.status, want.body)
			}
			if strings.Contains(want.header.Get("Cache-Control"), "private") || want.header.Get("Vary") != "" {
				t.Errorf("without keys the headers are %v", want.header)
			}
			for name, value := range map[string]string{
				"Cache-Control": "private, no-cache", "Vary": "Authorization, X-API-Key",
			} {
				if !slices.Equal(got.header.Values(name), []string{value}) {
					t.Errorf("%s is %q", name, got.header.Values(name))
				}
				want.header.Del(name)
				got.header.Del(name)
			}
			for name := range want.header {
				if name != "Date" && name != "X-Request-Id" && want.header.Get(name) != got.header.Get(name) {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), want.header.Get(name))
				}
			}
		})
	})
}

func TestAKeyIsTakenInEveryForm(t *testing.T) {
	t.Parallel()
	s := startFor(t, locked())
	for name, c := range map[string]struct {
		headers []string
		body    string // of the refusal to write; none when it is let in
	}{
		"Bearer":                              {[]string{"Authorization: Bearer " + keyA}, ""},
		"bearer":                              {[]string{"Authorization: bearer " + keyA}, ""},
		"BEARER and spaces":                   {[]string{"Authorization: BEARER   " + keyA + "  "}, ""},
		"X-API-Key":                           {[]string{"X-API-Key: " + keyB}, ""},
		"x-api-key":                           {[]string{"x-api-key: " + keyB}, ""},
		"both":                                {[]string{"Authorization: Bearer " + keyA, "X-API-Key: " + keyA}, ""},
		"both, of two keys":                   {[]string{"Authorization: Bearer " + keyA, "X-API-Key: " + keyB}, ""},
		"a proxy's password beside it":        {[]string{"Authorization: Basic YTpi", "X-API-Key: " + keyB}, ""},
		"both, one of them wrong":             {[]string{"Authorization: Bearer " + keyA, "X-API-Key: x"}, wrongKey},
		"both, the other wrong":               {[]string{"Authorization: Bearer x", "X-API-Key: " + keyA}, wrongKey},
		"both, one of them to read":           {[]string{"Authorization: Bearer " + readKey, "X-API-Key: " + keyA}, onlyRead},
		"both, the other to read":             {[]string{"Authorization: Bearer " + keyA, "X-API-Key: " + readKey}, onlyRead},
		"twice, once wrong":                   {[]string{"X-API-Key: " + keyA, "X-API-Key: " + keyA + "x"}, wrongKey},
		"two in one line":                     {[]string{"X-API-Key: " + keyA + ", " + keyB}, wrongKey},
		"its beginning":                       {[]string{"X-API-Key: " + keyA[:len(keyA)-1]}, wrongKey},
		"more than it":                        {[]string{"X-API-Key: " + keyA + "a"}, wrongKey},
		"in capitals":                         {[]string{"X-API-Key: " + strings.ToUpper(keyA)}, wrongKey},
		"a scheme twice":                      {[]string{"Authorization: Bearer Bearer " + keyA}, wrongKey},
		"in quotes":                           {[]string{`Authorization: Bearer "` + keyA + `"`}, wrongKey},
		"without a scheme":                    {[]string{"Authorization: " + keyA}, noKey},
		"another scheme":                      {[]string{"Authorization: Token " + keyA}, noKey},
		"a scheme alone":                      {[]string{"Authorization: Bearer "}, noKey},
		"an empty header":                     {[]string{"X-API-Key: "}, noKey},
		"another header":                      {[]string{"Api-Key: " + keyA}, noKey},
		"a cookie":                            {[]string{"Cookie: X-API-Key=" + keyA}, noKey},
		"a key to read":                       {[]string{"X-API-Key: " + readKey}, onlyRead},
		"to read, both":                       {[]string{"X-API-Key: " + readKey, "X-API-Key: " + readKey}, onlyRead},
		"a key of 20,000 characters":          {[]string{"X-API-Key: " + strings.Repeat("k", 20000)}, wrongKey},
		"a key with a character beyond ASCII": {[]string{"X-API-Key: " + keyA + "é"}, wrongKey},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.do(t, "POST", "/api/users", "", c.headers...)
			if c.body == "" {
				c.body = required
			}
			if got.body != c.body {
				t.Errorf("answered %d %s, want %s", got.status, got.body, c.body)
			}
		})
	}
}

// These are decided before the key is looked at, so they need no other one.
func TestARefusalOfAHostOrOfAnotherSiteSaysNothingOfTheKey(t *testing.T) {
	t.Parallel()
	access := locked()
	access.Hosts = []string{"127.0.0.1"}
	s := startFor(t, access)
	for lines, status := range map[string]int{
		"Host: x\r\n": 421, "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n": 403,
	} {
		conn := s.dial(t)
		conn.send("DELETE /api/users/1 HTTP/1.1\r\n%sX-API-Key: %s\r\n\r\n", lines, keyA)
		got := conn.answer()
		if got.status != status || got.header["X-Api-Key-Access"] != nil || got.header["Www-Authenticate"] != nil {
			t.Errorf("%q is answered %d with %v", lines, got.status, got.header)
		}
	}
}
