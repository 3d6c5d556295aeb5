//go:build browser

package browser

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Proxies that compress JSON change the entity tag of what they send.
func TestBehindAProxyThatCompressesUsersAreChangedAndDeleted(t *testing.T) {
	for name, proxy := range map[string]func(t *testing.T, to string) (address string){
		"nginx": nginx, "Apache": withTag(`"%s-gzip"`), "Caddy": withTag(`"%s-zstd"`), "a weak tag": withTag(`W/"%s"`),
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			create(t, p, 3)
			ada := visit(t, p.At(proxy(t, p.URL)), "/")
			ada.changes("User 000", "Name", "Ada")
			ada.opens("Change Ada", "Change user").fills("Name", "Mine")
			p.Change(t, 1, `{"name":"Theirs"}`)
			ada.clicks("button", "Save").sees("dialog", "Somebody else changed this user")
			ada.clicks("button", "Save mine").lists("User 002", "User 001", "Mine")
			ada.opens("Delete Mine", "Delete this user?").clicks("button", "Delete").reads("Mine was deleted")
			ada.clicks("checkbox", "Select all on this page")
			ada.opens("Delete 2 users", "Delete 2 users?")
			ada.clicks("button", "Delete 2 users").reads("2 users deleted")
			p.ExpectUsers(t)
		})
	}
}

// withTag is a proxy that puts the service's tag into another one.
func withTag(form string) func(*testing.T, string) string {
	return func(t *testing.T, to string) string {
		t.Helper()
		target, err := url.Parse(to)
		program.Must(t, err)
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ModifyResponse = func(answer *http.Response) error {
			if tag := answer.Header.Get("ETag"); strings.Contains(answer.Header.Get("Content-Type"), "json") && tag != "" {
				answer.Header.Set("ETag", fmt.Sprintf(form, strings.Trim(tag, `"`)))
			}
			return nil
		}
		server := httptest.NewServer(proxy)
		t.Cleanup(server.Close)
		return server.URL
	}
}

// nginx starts one that compresses JSON, where it is installed.
func nginx(t *testing.T, to string) (address string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("there is no nginx; apt-get install nginx-light")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	program.Must(t, err)
	program.Must(t, free.Close())
	directory, address := t.TempDir(), free.Addr().String()
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "scgi", "uwsgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(directory, kind))
	}
	configuration := file(t, "nginx.conf", fmt.Sprintf(`daemon off; master_process off; pid %s/pid; events {} http {
		%s access_log off; gzip on; gzip_types application/json;
		server { listen %s; location / { proxy_pass %s; proxy_set_header Host $http_host; } }
	}`, directory, temporary, address, to))
	command := exec.Command(path, "-c", configuration, "-e", "stderr")
	program.Must(t, command.Start())
	t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
	address = "http://" + address
	program.WaitFor(t, "nginx to answer", func() bool {
		answer, err := program.At(address).Send(http.MethodGet, "/health", "")
		return err == nil && answer.Status == http.StatusOK
	})
	return address
}
