package forkjoin

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// late is a form that keeps a caller of submit back, once armed is set.
type late struct {
	form
	armed    atomic.Bool
	reached  fibersync.Event
	released fibersync.Event
}

func (l *late) submit(s *strand, j *job) {
	if l.armed.CompareAndSwap(true, false) {
		l.reached.Signal()
		l.released.Wait()
	}
	l.form.submit(s, j)
}

// A goroutine that forks in a scope is counted until its task is queued, also if the scope has joined that before. So
// Close does not return while it may start a drainer.
func TestForkInAScopeIsCounted(t *testing.T) {
	for _, form := range []Form{Heartbeat, Deque} { // Locked joins what has been queued
		t.Run(form.String(), func(t *testing.T) {
			s, err := sched.New(sched.Config{Workers: 2})
			require.NoError(t, err)
			p, err := New(s, Config{Form: form})
			require.NoError(t, err)
			l := &late{form: p.of.form}
			p.of.form = l
			var forked fibersync.Event
			InScope(p, func(_ *Pool, scope *Scope) {
				l.armed.Store(true)
				go func() { defer forked.Signal(); scope.Fork(func(*Pool) {}) }()
				l.reached.Wait()
			})
			for p.of.atWork.len() > 0 {
				runtime.Gosched()
			}
			assert.Positive(t, p.of.running.Load())
			l.released.Signal()
			forked.Wait()
			require.NoError(t, p.Close())
			require.NoError(t, s.Close())
			require.NoError(t, fiber.Drain())
		})
	}
}
