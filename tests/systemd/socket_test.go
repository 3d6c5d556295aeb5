//go:build systemd

package systemd

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// systemd-socket-activate opens a port, and starts the program at the first connection as a socket unit does.
func TestTheFirstClientStartsAServiceWithASocket(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	script := filepath.Join(t.TempDir(), "activated")
	text := fmt.Sprintf("#!/bin/sh\nexec systemd-socket-activate --listen=%s -E DATA_DIR %s\n",
		address, program.Path())
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	p := program.Launch(t, script)
	program.WaitFor(t, "the port is open", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	p.WaitForAddress(t)
	if p.URL != "http://"+address {
		t.Errorf("it listens to %s instead of %s", p.URL, address)
	}
	p.Create(t, "Ada", "ada@example.org")
	p.Stop(t)
}
