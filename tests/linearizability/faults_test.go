package linearizability

import (
	"syscall"
	"time"

	"users-api/tests/program"
)

// A fault is what happens during a round: does makes it, and what that returns ends it.
type fault struct {
	name string
	does func(s *setup) (heal func())
}

var none = fault{"nothing fails", func(*setup) func() { return func() {} }}

// killed kills a process as kill -9 does, and starts it again.
var killed = fault{"a process is killed", func(s *setup) func() {
	one := s.any()
	one.Load().Kill(s.t)
	return func() { one.start(s.t) }
}}

// stopped ends a process as an administrator does, and starts it again. No request is cut.
var stopped = fault{"a process is stopped", func(s *setup) func() {
	one := s.any()
	one.stop(s.t)
	program.Forbid(s.t, one.Load().Log(), "cut_by=stop")
	return func() { one.start(s.t) }
}}

// paused stops a process where it is, whatever it holds, and lets it go on.
var paused = fault{"a process is paused", func(s *setup) func() {
	p := s.any().Load()
	p.Signal(syscall.SIGSTOP)
	time.Sleep(s.pause())
	return func() { p.Signal(syscall.SIGCONT) }
}}

// pause is for how long something stands still: up to 10 s in a long run.
func (s *setup) pause() time.Duration {
	return time.Duration(s.random.IntN(program.Times(800, 10_000))) * time.Millisecond
}
