package cli

import (
	"net"
	"strings"
	"testing"

	"users-api/tests/program"
)

// askFor sends a request for a host and returns the answer.
func askFor(t *testing.T, p *program.Program, host, target string) program.Answer {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
	return conn.Answer().To(target + " for " + host)
}

func TestAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ALLOWED_HOSTS=users.example.org, LOCALHOST,::1,192.0.2.1")
	for _, host := range []string{"users.example.org", "users.example.org.", "Users.Example.Org:3000", "localhost:80", "[::1]:3000",
		"[0::1]", "[0:0:0:0:0:0:0:1]:80", "192.0.2.1", "192.0.2.1:1"} {
		askFor(t, p, host, "GET /api/users").Expect(t, 200, "[]")
	}
	const refusal = `{"error":"This service does not answer for the host \"evil.example\""}`
	for _, host := range []string{"evil.example", "evil.example:3000"} {
		for _, target := range []string{"GET /api/users", "POST /api/users", "DELETE /api/users/1", "GET /", "BREW /x"} {
			askFor(t, p, host, target).Expect(t, 421, refusal)
		}
		askFor(t, p, host, "GET /health").Expect(t, 200, `{"status":"ok"}`)
	}
	for _, host := range []string{"127.0.0.1", "users.example.org.evil.example", "evil-users.example.org", "[::2]", ""} {
		askFor(t, p, host, "GET /api/users").Expect(t, 421, "…")
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "evil")
}

// Figures and profiles are for no other site either. Probes call the service by its address, and learn nothing.
func TestAnotherHostIsRefusedOnTheAdminPort(t *testing.T) {
	t.Parallel()
	admin := program.Admin(t, program.Serve(t, "ADMIN_PORT=0", "ALLOWED_HOSTS=a.example"))
	for path, status := range map[string]int{"/metrics": 200, "/debug/pprof/cmdline": 200, "/nothing": 404} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 421, `…"evil.example"…`)
		askFor(t, admin, "A.example:9090", "GET "+path).Expect(t, status, "…")
	}
	for _, path := range []string{"/livez", "/readyz"} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 200, "ok\n")
	}
}

func TestTheAdminPortIsApart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0", "LISTEN_ADDRESS=127.0.0.2", "API_KEY="+fullKey, "ALLOWED_HOSTS=a.example,127.0.0.2")
	expectListening(t, program.Admin(t, p), "127.0.0.2")
	for _, path := range []string{"/metrics", "/livez", "/readyz", "/debug/pprof/", "/debug/pprof/heap?debug=1"} {
		program.AskAdmin(t, p, path).Expect(t, 200, "…")
		askFor(t, p, "a.example", "GET "+path).Expect(t, 404, "…")
	}
	for _, path := range []string{"/", "/health", "/api/users"} {
		program.AskAdmin(t, p, path).Expect(t, 404, "…")
	}
	none := program.Serve(t, "ADMIN_PORT=")
	if listening, _ := none.Sockets(t); strings.Contains(none.Log(), "admin=") || listening != 1 {
		t.Errorf("without ADMIN_PORT it listens on %d sockets and logs %s", listening, none.Log())
	}
}

// elsewhere is an address of this machine to which no other program listens alone.
const elsewhere = "127.0.0.78"

// expectListening fails the test unless a program listens to this address, and not to every one. It returns the port.
func expectListening(t *testing.T, p *program.Program, address string) (port string) {
	t.Helper()
	port, found := strings.CutPrefix(p.URL, "http://"+address+":")
	if !found {
		t.Fatalf("it listens at %s", p.URL)
	}
	if conn, err := net.Dial("tcp", elsewhere+":"+port); err == nil {
		_ = conn.Close()
		t.Errorf("it listens to every address at %s", port)
	}
	return port
}

func TestOneAddressIsListenedTo(t *testing.T) {
	t.Parallel()
	for address, shown := range map[string]string{"127.0.0.2": "127.0.0.2", "::1": "[::1]"} {
		probe, err := net.Listen("tcp", shown+":0")
		if err != nil {
			t.Logf("there is no %s here: %v", address, err)
			continue
		}
		_ = probe.Close()
		port := expectListening(t, program.Serve(t, "LISTEN_ADDRESS="+address), shown)
		for called, want := range map[string]int{address: 0, elsewhere: 1} {
			stdout, stderr, code := program.Run(t, []string{"PORT=" + port, "LISTEN_ADDRESS=" + called}, "healthcheck")
			if code != want || code == 0 && !strings.Contains(stdout, "http://"+shown+":"+port+"/health") {
				t.Errorf("the health check of %s ends with %d, %q and %q", called, code, stdout, stderr)
			}
		}
	}
}
