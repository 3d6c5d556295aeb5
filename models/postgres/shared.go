package postgres

import (
	"context"
	"sync"
)

// shared lets requests that arrive together share an answer. A request joins the question that has not been asked yet, never
// the one under way: its answer is as of a moment after the request.
type shared[T any] struct {
	ask func(before T) (T, error) // is told the last answer

	mu     sync.Mutex
	next   *answer[T]
	asking sync.Mutex // held while a question is under way
	last   T
}

type answer[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func (s *shared[T]) get(ctx context.Context) (value T, err error) {
	joined := s.join()
	select {
	case <-joined.done:
		return joined.value, joined.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

func (s *shared[T]) join() *answer[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &answer[T]{done: make(chan struct{})}
		go s.answer(s.next)
	}
	return s.next
}

func (s *shared[T]) answer(next *answer[T]) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	s.next = nil // requests that come from now on share the one after it
	s.mu.Unlock()
	defer close(next.done)
	if next.value, next.err = s.ask(s.last); next.err == nil {
		s.last = next.value
	}
}
