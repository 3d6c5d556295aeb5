package program

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// What stands around a site: %[1]s is a folder, %[2]s the site. nginx compresses whatever it may.
const (
	aroundNginx = `daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}
http {
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	gzip on; gzip_types application/json; gzip_proxied any;
	%[2]s
}`
	aroundCaddy = "{\n\tadmin off\n}\n%[2]s"
)

// BehindNginx returns the program as clients of an nginx reach it that compresses, and serves it below a prefix. Where
// there is no nginx, it skips the rest of the test.
func (p *Program) BehindNginx(t *testing.T) *Program {
	t.Helper()
	proxied := p.Behind(t, "nginx", `server {
		listen 443 ssl;
		location /people/ { proxy_pass http://127.0.0.1:3000/; proxy_set_header Host $http_host; }
	}`)
	return p.At(proxied.URL + "/people")
}

// Behind returns the program as clients of nginx or Caddy ("caddy") reach it, whose site is as documents show it: the program
// takes the place of 127.0.0.1:3000, and a free port without TLS that of the site. Without the proxy it skips the test.
func (p *Program) Behind(t *testing.T, proxy, site string) *Program {
	t.Helper()
	path, err := exec.LookPath(proxy)
	if err != nil {
		t.Skipf("needs %s: apt-get install nginx-light caddy", proxy)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	address := listener.Addr().String() // a port that is free
	Must(t, listener.Close())
	folder := t.TempDir()
	file := filepath.Join(folder, "conf")
	around, arguments := aroundNginx, []string{"-p", folder, "-c", file}
	if proxy == "caddy" {
		around, arguments = aroundCaddy, []string{"run", "--adapter", "caddyfile", "--config", file}
	}
	site = regexp.MustCompile(`(?m)^ *ssl_.*\n`).ReplaceAllString(site, "")
	site = strings.NewReplacer("listen 443 ssl", "listen "+address, "users.example.com {", "http://"+address+" {",
		"127.0.0.1:3000", strings.TrimPrefix(p.URL, "http://")).Replace(site)
	WriteFile(t, file, fmt.Sprintf(around, folder, site))
	command := exec.Command(path, arguments...)
	command.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	command.Stderr = p.log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Must(t, command.Start())
	t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
	WaitFor(t, proxy+" accepts connections", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	return p.At("http://" + address)
}
