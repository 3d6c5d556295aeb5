package tests

import (
	"strings"
	"testing"
)

// Requests that no client of good will sends. Each must be answered with a 4xx, or with a closed connection.
var hostile = []struct{ name, request string }{
	{"no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	{"NUL bytes", "GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a NUL in a header", "GET /health HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n"},
	{"a header without a name", "GET /health HTTP/1.1\r\nHost: x\r\n: x\r\n\r\n"},
	{"a header name with a space", "GET /health HTTP/1.1\r\nHost: x\r\nA B: x\r\n\r\n"},
	{"a folded header", "GET /health HTTP/1.1\r\n Host: x\r\n\r\n"},
	{"no host", "GET /health HTTP/1.1\r\n\r\n"},
	{"two hosts", "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
	{"a bad host", "GET /health HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{"an unknown version", "GET /health HTTP/9.9\r\nHost: x\r\n\r\n"},
	{"a lower-case version", "GET /health http/1.1\r\nHost: x\r\n\r\n"},
	{"no version", "GET /health\r\n\r\n"},
	{"an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"a method of odd characters", "G\x7fET /health HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a method nobody knows", "BREW /api/users HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"CONNECT", "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"},
	{"a bad escape", "DELETE /api/users/%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"half an escape", "DELETE /api/users/% HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"an escaped slash", "DELETE /api/users/1%2f2 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"an escaped NUL", "DELETE /api/users/1%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"dots in the path", "GET /api/users/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"an absolute URI of another path", "GET http://example.org/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a URI without a slash", "GET health HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a very long path", "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a very long header", "GET /health HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"},
	{"very many headers", "GET /health HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 100_000) + "\r\n"},
	{"two lengths", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
	{"a negative length", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}"},
	{"a length with a plus", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: +2\r\n\r\n{}"},
	{"a length beyond numbers", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n{}"},
	{"a very large length", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000000000000\r\n\r\n" + strings.Repeat("a", 1<<20+1)},
	{"a length and chunks", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"an unknown coding", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}"},
	{"two codings", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"},
	{"a chunk size that is none", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n"},
	{"a negative chunk size", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n"},
	{"a chunk size beyond numbers", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n"},
	{"a chunk longer than its size", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\"name\"}\r\n0\r\n\r\n"},
	{"a very long chunk extension", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("a", 1<<20) + "\r\n{}\r\n0\r\n\r\n"},
	{"a body of many chunks that is too large", "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat("a", 1024)+"\r\n", 1025) + "0\r\n\r\n"},
	{"an unknown expectation", "POST /api/users HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 2\r\n\r\n{}"},
	{"a second request smuggled after a bad one", "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nDELETE /api/users/1 HTTP/1.1\r\nHost: x\r\n\r\n"},
}

func TestHostileRequestsAreRefusedAndTheNextGoodOneIsAnswered(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			conn := p.Dial(t)
			go conn.Send("%s", h.request) // the program may close before it has read all of it
			answer := conn.Answer()
			if answer.Status != 0 && (answer.Status < 400 || answer.Status > 499) && answer.Status != 501 && answer.Status != 505 {
				t.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			forbid(t, answer.Body, "goroutine", "net/http", "json:")
			if users := p.List(t); len(users) != 1 {
				t.Fatalf("the users are %v", users)
			}
		})
	}
	forbid(t, p.Log(), "goroutine", "level=ERROR")
}
