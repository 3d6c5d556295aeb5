package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTime = 30 * time.Second
	stopTime  = 10 * time.Second
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
func start(ctx context.Context, s *server, data string, env ...string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	command := exec.Command(s.command[0], s.command[1:]...)
	command.Dir = data
	command.Env = append(os.Environ(), "PORT="+port, "DATA_DIR="+data, "NODE_ENV=production")
	command.Env = append(command.Env, env...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive the bench
	p := &process{command: command, url: "http://127.0.0.1:" + port, ended: make(chan struct{})}
	started := time.Now()
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() { _ = command.Wait(); close(p.ended) }()
	if err := p.awaitAnswer(ctx, s.api.health); err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	p.took = time.Since(started)
	return p, nil
}

// freePort returns a port that nobody listens on.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close() //nolint:errcheck // nothing was sent over it
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}

// awaitAnswer asks until the server answers 200.
func (p *process) awaitAnswer(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if _, err := get(ctx, client, p.url+path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w", path, ctx.Err())
		case <-p.ended:
			return fmt.Errorf("ended before its first answer: %s", p.command.ProcessState)
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// stop asks the process to end, and ends it when it does not.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTime):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// memory returns a line of /proc/PID/status in bytes: VmRSS is what the process has in memory, VmHWM the most it had.
func (p *process) memory(line string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("the server is gone: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("no %s in /proc", line)
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	return kib * 1024, err
}
