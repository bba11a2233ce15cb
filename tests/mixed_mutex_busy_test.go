package tests

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/mixed"
)

// lockContext is a Mutex, or an RWMutex for writing.
type lockContext interface {
	Lock()
	Unlock()
	LockContext(ctx context.Context) error
}

// A task gives a lock up and computes from then on. First in line is a fiber of the same worker, and cannot
// run. The others have to get the lock even so: a goroutine, or a fiber of another worker.
func TestMixedLockIsNotKeptForABusyWorker(t *testing.T) {
	locks := map[string]func() lockContext{
		"Mutex":   func() lockContext { return new(mixed.Mutex) },
		"RWMutex": func() lockContext { return new(mixed.RWMutex) },
	}
	for name, newLock := range locks {
		t.Run(name, func(t *testing.T) {
			eachScheduler(t, oneThread, func(t *testing.T, s *sched.Scheduler) {
				other, err := sched.New(sched.Config{Workers: 1})
				if !assert.NoError(t, err) {
					return
				}
				for _, handed := range []bool{false, true} {
					for _, on := range []*sched.Scheduler{nil, other} {
						keepWorkerBusy(&company{t: t, s: s}, newLock(), handed, &company{t: t, s: on})
					}
				}
				assert.NoError(t, other.Close())
			})
		})
	}
}

// keepWorkerBusy does that once with a line of four, of whom the last is one of others. If handed is
// true, the first has been let out in vain before, and is handed the lock now.
func keepWorkerBusy(c *company, l lockContext, handed bool, others *company) {
	var got atomic.Bool
	perform(c.t, c.s, func() {
		l.Lock()
		lineUp(c, 3, context.Background(), func(_ int, ctx context.Context) {
			if assert.NoError(c.t, l.LockContext(ctx)) {
				l.Unlock()
			}
		})
		if handed {
			l.Unlock()
			l.Lock()
			for range 10 {
				sched.Yield() // the one who was let out comes too late, and goes back into the line
			}
		}
		lineUp(others, 1, context.Background(), func(_ int, ctx context.Context) {
			if assert.NoError(c.t, l.LockContext(ctx)) {
				got.Store(true)
				l.Unlock()
			}
		})
		l.Unlock()
		for begun := time.Now(); !got.Load(); {
			if time.Since(begun) > 10*time.Second {
				assert.Fail(c.t, "nobody has got the lock while the worker was busy")
				return
			}
		}
	})
	c.wait()
	others.wait()
}
