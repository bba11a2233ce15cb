// Package futures has one future written twice, so that the two ways can be measured. Any keeps the argument and the
// result of its task as values of type any, as a document for C keeps them behind void pointers. So it needs one copy
// of its code. Typed is generic. Both are claimed by compare-and-swap and run by the caller that asks for the result
// first.
package futures

import (
	"sync"
	"sync/atomic"

	_ "fiberlab/internal/platform"
)

const (
	notStarted uint32 = iota
	inProgress
	completed
)

// state is what both futures are in.
type state struct {
	status atomic.Uint32
	mu     sync.Mutex
	done   sync.Cond
}

func (s *state) claim() bool { return s.status.CompareAndSwap(notStarted, inProgress) }

// complete ends the waits. The result has been stored.
func (s *state) complete() {
	s.mu.Lock()
	s.status.Store(completed)
	if s.done.L != nil {
		s.done.Broadcast()
	}
	s.mu.Unlock()
}

// wait blocks until another has completed the task.
func (s *state) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.L == nil {
		s.done.L = &s.mu
	}
	for s.status.Load() != completed {
		s.done.Wait()
	}
}
