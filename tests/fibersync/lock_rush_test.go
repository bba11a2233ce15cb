package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

// Here nobody lets others go first, and contexts are over from the start. So what happens between
// two looks at a lock happens often where there are several threads: that somebody is let
// out of the line who is about to leave it, and the like.

func overContext() context.Context {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return over
}

func TestMutexRushWithContextsThatAreOver(t *testing.T) {
	over := overContext()
	eachCompany(t, func(c *company) {
		rounds := suite.Scaled(3000, 300)
		var m fibersync.Mutex
		count, got := 0, atomic.Int64{}
		for i := range 4 {
			c.start(func() {
				for range rounds {
					if i%2 == 0 {
						m.Lock()
					} else if m.LockContext(over) != nil {
						continue
					}
					got.Add(1)
					count++
					m.Unlock()
				}
			})
		}
		c.wait()
		assert.EqualValues(c.t, got.Load(), count)
		assert.True(c.t, m.TryLock(), "nobody has it any more")
	})
}

func TestRWMutexRushWithContextsThatAreOver(t *testing.T) {
	over := overContext()
	eachCompany(t, func(c *company) {
		rounds := suite.Scaled(3000, 300)
		var m fibersync.RWMutex
		var inside, wrong atomic.Int64 // a writer counts 100
		turn := func(weight, most int64, unlock func()) {
			if inside.Add(weight) > most {
				wrong.Add(1)
			}
			inside.Add(-weight)
			unlock()
		}
		for i := range 6 {
			c.start(func() {
				for range rounds {
					switch i {
					case 0:
						m.Lock()
						turn(100, 100, m.Unlock)
					case 1, 2:
						if m.LockContext(over) == nil {
							turn(100, 100, m.Unlock)
						}
					case 3:
						if m.RLockContext(over) == nil {
							turn(1, 99, m.RUnlock)
						}
					default:
						m.RLock()
						turn(1, 99, m.RUnlock)
					}
				}
			})
		}
		c.wait()
		assert.Zero(c.t, wrong.Load())
		assert.True(c.t, m.TryLock(), "nobody is in any more")
	})
}

func TestSemaphoreRushWithContextsThatAreOver(t *testing.T) {
	over := overContext()
	eachCompany(t, func(c *company) {
		const units = 3
		rounds := suite.Scaled(3000, 300)
		s := fibersync.NewSemaphore(units)
		var out, wrong atomic.Int64
		for i := range int64(4) {
			c.start(func() {
				for range rounds {
					n := 1 + i%units
					if i%2 == 0 {
						s.Acquire(n)
					} else if s.AcquireContext(over, n) != nil {
						continue
					}
					if out.Add(n) > units {
						wrong.Add(1)
					}
					out.Add(-n)
					s.Release(n)
				}
			})
		}
		c.wait()
		assert.Zero(c.t, wrong.Load())
		assert.True(c.t, s.TryAcquire(units), "all are back")
	})
}
