package operations

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
		if answer := askFor(t, p, host, "GET /api/users"); answer.Status != 200 {
			t.Errorf("%q is answered %d %s", host, answer.Status, answer.Body)
		}
	}
	const refusal = `{"error":"This service does not answer for the host \"evil.example\""}`
	for _, host := range []string{"evil.example", "evil.example:3000"} {
		for _, target := range []string{"GET /api/users", "POST /api/users", "DELETE /api/users/1", "GET /", "BREW /x"} {
			askFor(t, p, host, target).Expect(t, 421, refusal)
		}
		askFor(t, p, host, "GET /health").Expect(t, 200, `{"status":"ok"}`)
	}
	for _, host := range []string{"127.0.0.1", "users.example.org.evil.example", "evil-users.example.org", "[::2]", ""} {
		if answer := askFor(t, p, host, "GET /api/users"); answer.Status != 421 {
			t.Errorf("%q, which is not allowed, is answered %d", host, answer.Status)
		}
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "evil")
}

// Figures and profiles are for no other site either. Probes call the service by its address, and learn nothing.
func TestAnotherHostIsRefusedOnTheAdminPort(t *testing.T) {
	t.Parallel()
	admin := program.Admin(t, program.Serve(t, "ADMIN_PORT=0", "ALLOWED_HOSTS=a.example"))
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/nothing"} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 421, `…"evil.example"…`)
	}
	for _, path := range []string{"/livez", "/readyz"} {
		askFor(t, admin, "evil.example:9090", "GET "+path).Expect(t, 200, "ok\n")
	}
	for path, status := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/nothing": 404} {
		askFor(t, admin, "A.example:9090", "GET "+path).Expect(t, status, "…")
	}
}

func TestAnyHostIsAnsweredWhereNoneAreNamed(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, host := range []string{"evil.example", "", "[::1]", "a_b.example.:1"} {
		askFor(t, p, host, "GET /api/users").Expect(t, 200, "[]")
	}
}

func TestOneAddressIsListenedTo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LISTEN_ADDRESS=127.0.0.2")
	port, found := strings.CutPrefix(p.URL, "http://127.0.0.2:")
	if !found {
		t.Fatalf("the log says %s", p.URL)
	}
	p.Do(t, "GET", "/health", "").Expect(t, 200, "…")
	expectClosed(t, port)
	for address, want := range map[string]int{"127.0.0.2": 0, elsewhere: 1} {
		_, stderr, code := program.Run(t, []string{"PORT=" + port, "LISTEN_ADDRESS=" + address}, "healthcheck")
		if code != want {
			t.Errorf("the health check of %s ends with %d and %q", address, code, stderr)
		}
	}
}

// elsewhere is an address of this machine to which no other program listens alone.
const elsewhere = "127.0.0.78"

// expectClosed fails the test when a program listens to every address.
func expectClosed(t *testing.T, port string) {
	t.Helper()
	if conn, err := net.Dial("tcp", elsewhere+":"+port); err == nil {
		_ = conn.Close()
		t.Errorf("a program listens to every address at %s", port)
	}
}

func TestIPv6IsListenedTo(t *testing.T) {
	t.Parallel()
	if probe, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("there is no IPv6 here: %v", err)
	} else {
		_ = probe.Close()
	}
	p := program.Serve(t, "LISTEN_ADDRESS=::1")
	port := strings.TrimPrefix(p.URL, "http://[::1]:")
	stdout, stderr, code := program.Run(t, []string{"PORT=" + port, "LISTEN_ADDRESS=::1"}, "healthcheck")
	if code != 0 || !strings.Contains(stdout, "http://[::1]:"+port+"/health") {
		t.Errorf("the health check ends with %d, %q and %q", code, stdout, stderr)
	}
}

func TestABadOrForeignAddressEndsTheStart(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct{ setting, says string }{
		{"LISTEN_ADDRESS=localhost", `LISTEN_ADDRESS is…localhost…IP address`},
		{"LISTEN_ADDRESS=127.0.0.1:80", `LISTEN_ADDRESS is…127.0.0.1:80…without a port`},
		{"LISTEN_ADDRESS=192.0.2.1", "192.0.2.1…cannot assign requested address…set LISTEN_ADDRESS"},
		{"ALLOWED_HOSTS=a.example:80", `ALLOWED_HOSTS is…a.example:80…without ports`},
		{"ADMIN_PORT=metrics", `ADMIN_PORT is…metrics…65535`},
		{"ADMIN_PORT=" + occupiedPort(t), "address already in use…set ADMIN_PORT"},
		{"PORT=3999 ADMIN_PORT=3999", "ADMIN_PORT is…3999…PORT is the same"},
	} {
		t.Run(bad.setting, func(t *testing.T) {
			t.Parallel()
			program.ExpectRefusal(t, program.Launch(t, program.Path(), strings.Fields(bad.setting)...), strings.Split(bad.says, "…")...)
		})
	}
}
