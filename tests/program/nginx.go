package program

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nginxConf is a site of nginx that compresses what it serves, and has the program under /people/.
const nginxConf = `daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}
http {
	access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	gzip on; gzip_types application/json; gzip_proxied any;
	server {
		listen %[2]s;
		location /people/ { proxy_pass %[3]s/; proxy_set_header Host $http_host; }
	}
}`

// BehindNginx returns the program as clients of an nginx reach it that compresses, and serves it below a prefix. Where
// there is no nginx, it skips the rest of the test.
func (p *Program) BehindNginx(t *testing.T) *Program {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("needs nginx: apt-get install nginx-light")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	address := listener.Addr().String() // a port that is free
	Must(t, listener.Close())
	folder := t.TempDir()
	WriteFile(t, filepath.Join(folder, "conf"), fmt.Sprintf(nginxConf, folder, address, p.URL))
	nginx := exec.Command(path, "-p", folder, "-c", filepath.Join(folder, "conf"))
	nginx.Stderr = p.log
	nginx.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	Must(t, nginx.Start())
	t.Cleanup(func() { _, _ = nginx.Process.Kill(), nginx.Wait() })
	WaitFor(t, "nginx accepts connections", func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	})
	return p.At(fmt.Sprintf("http://%s/people", address))
}
