package histories

import (
	"syscall"
	"time"

	"users-api/tests/program"
)

var none = fault{"nothing fails", func(*setup) func() { return func() {} }}

// killed kills a process as kill -9 does, and starts it again.
var killed = fault{"a process is killed", func(s *setup) func() {
	one := s.any()
	one.Load().Kill(s.t)
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
	longest := 800
	if *program.Long > 0 {
		longest = 10_000
	}
	return time.Duration(s.random.IntN(longest)) * time.Millisecond
}
