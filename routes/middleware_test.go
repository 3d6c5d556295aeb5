package routes

import (
	"strings"
	"testing"
)

// Each request is one whose end another program may see elsewhere than net/http does, with a deletion behind it.
func TestNothingHiddenBehindARequestIsCarriedOut(t *testing.T) {
	t.Parallel()
	const hidden = "DELETE /api/users/1 HTTP/1.1\r\nHost: x\r\n\r\n"
	const old = "POST /api/users HTTP/1.0\r\nConnection: keep-alive\r\n"
	const both = "Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	for name, request := range map[string]string{
		"a length and chunks":         "POST /api/users HTTP/1.1\r\n" + both,
		"of a change":                 "PATCH /api/users/2 HTTP/1.1\r\n" + both,
		"of a reading":                "GET /api/users HTTP/1.1\r\n" + both,
		"of the health":               "GET /health HTTP/1.1\r\n" + both,
		"of an unknown path":          "POST / HTTP/1.1\r\n" + both,
		"of another method":           "BREW /api/users HTTP/1.1\r\n" + both,
		"of everything":               "OPTIONS * HTTP/1.1\r\n" + both,
		"of another site":             "POST /api/users HTTP/1.1\r\nOrigin: https://evil.example\r\n" + both,
		"chunks alone":                "POST /api/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a length and chunks, of 1.0": old + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			s.create(t, "Ada", "ada@example.org")
			conn := s.dial(t)
			conn.send("%s%s", request, hidden)
			text, err := conn.rest()
			if err != nil || strings.Count(text, "HTTP/1.") != 1 || !strings.Contains(text, "Connection: close\r\n") {
				t.Errorf("%q, then %v", text, err)
			}
			if got := s.do(t, "GET", "/api/users/1", ""); got.status != 200 {
				t.Errorf("the user is gone: %s", got.body)
			}
		})
	}
}

func TestRequestsWithAClearEndShareAConnection(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn := s.dial(t)
	body := `{"name":"A","email":"a@b"}`
	conn.send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	conn.send("DELETE /api/users/1 HTTP/1.1\r\nHost: x\r\n\r\n")
	if got := conn.answer(); got.status != 201 || got.body != `{"id":1,"name":"A","email":"a@b"}` {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	if got := conn.answer(); got.status != 204 {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}
