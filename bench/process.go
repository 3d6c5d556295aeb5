package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a server that runs.
type process struct {
	command *exec.Cmd
	url     string
	took    time.Duration // from its start to its first answer
	ended   chan struct{}
}

// start starts a server on a data directory and returns once it has answered. Its output goes nowhere: a terminal or
// a pipe would make a server wait for whoever reads it.
func start(ctx context.Context, s *server, data string) (*process, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	_ = free.Close() // nothing was sent over it
	p := &process{url: "http://" + address, ended: make(chan struct{})}
	p.command = exec.Command(s.command[0], s.command[1:]...)
	p.command.Dir = data
	p.command.Env = append(os.Environ(), "PORT="+port, "DATA_DIR="+data, "NODE_ENV=production")
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the bench
	started := time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() { _ = p.command.Wait(); close(p.ended) }()
	if err := p.awaitAnswer(ctx, s.paths["health"]); err != nil {
		p.stop()
		return nil, err
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
}
