package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a server that runs.
type process struct {
	command   *exec.Cmd
	url, data string
	took      time.Duration // from its start to its first answer
	ended     chan struct{}
}

// freePort returns a port that no program listens on.
func freePort() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer free.Close() //nolint:errcheck // nothing was sent over it
	_, port, err := net.SplitHostPort(free.Addr().String())
	return port, err
}

// launch starts a server on a data directory and returns once it has answered. Its output goes nowhere: a terminal or
// a pipe would make a server wait for its reader.
func launch(ctx context.Context, s *server, data string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &process{url: "http://127.0.0.1:" + port, data: data, ended: make(chan struct{})}
	words := make([]string, len(s.Command))
	for i, word := range s.Command {
		words[i] = os.ExpandEnv(word)
	}
	p.command = exec.Command(words[0], words[1:]...)
	p.command.Dir = data
	p.command.Env = append(append(os.Environ(), s.Variables...), "PORT="+port, "LISTEN_ADDRESS=127.0.0.1", "DATA_DIR="+data, "NODE_ENV=production")
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the bench
	started := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.command.Wait(); close(p.ended) }()
	if err := p.awaitAnswer(ctx, s.Paths["health"]); err != nil {
		p.stop()
		return nil, err
	}
	var later int64 // when it was started after its database was
	if stamp, err := os.ReadFile(filepath.Join(data, "started")); err == nil {
		_, _ = fmt.Sscan(string(stamp), &later)
		started = time.Unix(0, later)
	}
	p.took = time.Since(started)
	return p, nil
}

// awaitAnswer asks until the server answers 200.
func (p *process) awaitAnswer(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	x := &subject{process: p, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	for x.do(ctx, http.MethodGet, path, "", http.StatusOK, io.Discard) != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", path, ctx.Err())
		case <-p.ended:
			return fmt.Errorf("ended before its first answer: %s", p.command.ProcessState)
		case <-time.After(200 * time.Microsecond):
		}
	}
	return nil
}

// stop asks the process to end, and ends it when it does not.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	awaitDatabase(p.data)
}

// awaitDatabase returns once the PostgreSQL server of a data directory has ended, as it does after its command.
func awaitDatabase(data string) {
	for range 3000 {
		if _, err := os.Stat(filepath.Join(data, "postgresql", "postmaster.pid")); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
