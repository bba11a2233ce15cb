package sched_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// hook is a BlockHook that counts what it is told, and does more if it is to.
type hook struct {
	t             *testing.T
	fiber         *sched.Fiber // that has set it
	before, after func()       // nil: nothing more
	blocks, wakes int
}

func (h *hook) BeforeBlock() {
	h.is("BeforeBlock")
	assert.Equal(h.t, h.blocks, h.wakes, "BeforeBlock twice in a row")
	h.blocks++
	if h.before != nil {
		h.before()
	}
}

func (h *hook) AfterBlock() {
	h.is("AfterBlock")
	h.wakes++
	assert.Equal(h.t, h.blocks, h.wakes, "AfterBlock without BeforeBlock")
	if h.after != nil {
		h.after()
	}
}

// is checks that the caller runs on the fiber, which is not blocked.
func (h *hook) is(call string) {
	assert.Same(h.t, h.fiber, sched.Current(), call)
	assert.Equal(h.t, sched.Running, h.fiber.State(), call)
}

// took checks how often the hook has been told since took was last called.
func (h *hook) took(want int, what string) {
	h.t.Helper()
	assert.Equal(h.t, [2]int{want, want}, [2]int{h.blocks, h.wakes}, "BeforeBlock and AfterBlock in %s", what)
	h.blocks, h.wakes = 0, 0
}

// newHook sets a new hook of the calling fiber.
func newHook(t *testing.T) *hook {
	h := &hook{t: t, fiber: sched.Current()}
	h.fiber.OnBlock(h)
	return h
}

// A wayToBlock returns a call that blocks the fiber of h, and a call that makes it go on, if nothing else does.
type wayToBlock func(h *hook) (block, wake func())

// withLock is Wait with such a lock, which unlock unlocks.
func withLock(lock sync.Locker, unlock func()) wayToBlock {
	return func(h *hook) (block, wake func()) {
		woken := false
		block = func() {
			lock.Lock()
			defer unlock()
			h.fiber.Wait(lock, func() bool { return woken })
		}
		wake = func() {
			lock.Lock()
			defer unlock()
			woken = true
			h.fiber.Notify()
		}
		return block, wake
	}
}

func byPark(h *hook) (block, wake func()) {
	var woken atomic.Bool
	p, end := park.Current(), time.Now().Add(schedtest.Standstill)
	block = func() {
		for !woken.Load() { // Park may return for no reason
			if p.Park(end); time.Now().After(end) {
				h.t.Error("an Unpark was lost")
				return
			}
		}
	}
	return block, func() { woken.Store(true); p.Unpark() }
}

func byLatch(*hook) (block, wake func()) {
	l := fibersync.NewLatch(1)
	return l.Wait, l.CountDown
}

// waysToBlock returns them, by name.
func waysToBlock() map[string]wayToBlock {
	var mutex sync.Mutex
	var rw sync.RWMutex
	var primitive fibersync.Mutex
	never := func() bool { return false }
	return map[string]wayToBlock{
		"Wait with a mutex":             withLock(&mutex, mutex.Unlock),
		"Wait with another lock":        withLock(&rw, rw.Unlock),
		"Wait with a lock of fibersync": withLock(&primitive, primitive.Unlock),
		"Wait that ends by its deadline": func(h *hook) (block, wake func()) {
			return func() { h.fiber.WaitFor(nil, time.Millisecond, never) }, func() {}
		},
		"Sleep": func(h *hook) (block, wake func()) {
			block = func() {
				for h.blocks == 0 { // its deadline may have come before it could block
					sched.Sleep(time.Millisecond)
				}
			}
			return block, func() {}
		},
		"Park": byPark,
		"Park that ends by its deadline": func(h *hook) (block, wake func()) {
			block = func() {
				for h.blocks == 0 {
					park.Current().Park(time.Now().Add(time.Millisecond))
				}
			}
			return block, func() {}
		},
		"the Wait of a latch": byLatch,
	}
}

// endsByItself are the ways that a deadline ends.
var endsByItself = map[string]bool{
	"Wait that ends by its deadline": true, "Sleep": true,
	"Park that ends by its deadline": true,
}

// A hook is called once for each call that blocks, before the fiber is blocked. What the hook enqueues may be the only
// thing that wakes the fiber. A bound goroutine may have a hook too.
func TestHookIsToldOnceOfEachBlock(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		for name, way := range waysToBlock() {
			test := func() {
				h := newHook(t)
				block, wake := way(h)
				over := schedtest.NewLatch(1)
				h.before = func() {
					assert.NoError(t, s.TryEnqueue(sched.Task{Func: func() { defer over.Done(); wake() }}))
				}
				block()
				h.took(1, name)
				h.before = nil
				over.Wait()
				h.fiber.OnBlock(nil)
			}
			schedtest.Perform(t, s, test)
			if sched.Current() != nil {
				test()
			}
		}
	})
}

// A hook is told before another fiber of its worker goes on, and after the last of them.
func TestHookIsToldBeforeOthersRun(t *testing.T) {
	suite.EachScheduler(t, suite.OneThread, func(t *testing.T, s *sched.Scheduler) {
		for name, way := range waysToBlock() {
			schedtest.Perform(t, s, func() {
				for attempt := 1; ; attempt++ {
					h := newHook(t)
					block, wake := way(h)
					ran, ranMeanwhile := false, false
					schedtest.ScheduleHere(t, s, func() { ran = true; wake() })
					h.before = func() { assert.False(t, ran, name) }
					h.after = func() { ranMeanwhile = ran }
					block()
					h.took(1, name)
					for !ran {
						sched.Yield()
					}
					if attempt < 100 && endsByItself[name] && !ranMeanwhile {
						continue // its deadline had come before the worker looked for others
					}
					assert.True(t, ranMeanwhile, name)
					return
				}
			})
		}
	})
}

// A hook is not told of calls that do not block, nor of Yield, even if others run during it.
func TestHookIsNotToldOfWhatDoesNotBlock(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			h := newHook(t)
			holds := func() bool { return true }
			var ran atomic.Bool
			schedtest.ScheduleHere(t, s, func() { ran.Store(true) })
			for !ran.Load() {
				sched.Yield()
			}
			h.took(0, "Yield")
			sched.Sleep(0)
			h.took(0, "Sleep")
			h.fiber.Wait(nil, holds)
			h.fiber.WaitFor(nil, -time.Second, holds)
			h.took(0, "Wait")
			for range 3 {
				park.Current().Unpark()
				park.Current().Park(time.Time{})
			}
			h.took(0, "Park")
			var mutex fibersync.Mutex
			lockAndUnlock(&mutex)
			h.took(0, "Lock")
		})
	})
}

// An Unpark that comes while the hook is told that the fiber parks ends that Park.
func TestUnparkInBeforeBlock(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			h := newHook(t)
			h.before = park.Current().Unpark
			for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
				park.Current().Park(deadline)
				h.took(1, "Park")
			}
		})
	})
}

// A hook goes with its task, however that ends: the tasks that its fiber runs afterwards have none.
func TestHookEndsWithItsTask(t *testing.T) {
	suite.EachConfig(t, suite.OneThread, func(t *testing.T, cfg sched.Config) {
		none := func() { assert.Nil(t, sched.Current().OnBlock(nil), "a hook is left") }
		cfg.Panicked = func(any, []byte) { none() }
		cfg.Initializer = func(int) { newHook(t) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedtest.Perform(t, s, none)
			for range 3 {
				var h *hook
				schedtest.Perform(t, s, func() { h = newHook(t) })
				schedtest.Perform(t, s, func() { none(); sched.Sleep(10 * time.Microsecond) })
				schedtest.Perform(t, s, func() {
					defer panic("deliberate")
					h = newHook(t)
				})
				schedtest.Perform(t, s, func() { none(); sched.Sleep(10 * time.Microsecond) })
				h.took(0, "other tasks")
			}
			if sched.Current() != nil {
				newHook(t)
				assert.NoError(t, sched.Unbind())
				assert.NoError(t, s.Bind())
				none()
			}
		})
	})
}

// A task may change its hook at any time, and learns which it had. A hook that is set when another one has been told
// that the fiber blocks is told of the next block.
func TestHookIsReplaced(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			first := newHook(t)
			second := &hook{t: t, fiber: first.fiber}
			assert.Same(t, first, first.fiber.OnBlock(second))
			block := func() { first.fiber.WaitFor(nil, time.Microsecond, func() bool { return false }) }
			block()
			first.took(0, "a wait without it")
			second.took(1, "a wait")
			second.before = func() { assert.Same(t, second, first.fiber.OnBlock(first)) }
			block()
			first.took(0, "the wait in which it was set")
			second.took(1, "the wait in which it was taken away")
			block()
			first.took(1, "the next wait")
			assert.Same(t, first, first.fiber.OnBlock(nil))
			block()
			first.took(0, "a wait without it")
			second.took(0, "a wait without it")
		})
	})
}

// A predicate that panics leaves the wait; the hook is told that the fiber goes on, and of the next block.
func TestHookAfterAPredicatePanicked(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		schedtest.Perform(t, s, func() {
			h := newHook(t)
			assert.Panics(t, func() {
				h.fiber.WaitFor(nil, time.Microsecond, func() bool {
					if h.blocks > 0 {
						panic("deliberate")
					}
					return false
				})
			})
			h.took(1, "the wait with the panic")
			h.fiber.WaitFor(nil, time.Microsecond, func() bool { return false })
			h.took(1, "the next wait")
		})
	})
}

// Only the fiber itself may set its hook.
func TestHookOfAnotherFiber(t *testing.T) {
	suite.EachScheduler(t, suite.AnyWorkers, func(t *testing.T, s *sched.Scheduler) {
		p := schedtest.NewSleeper()
		schedtest.Schedule(t, s, p.Task)
		f := p.Blocked()
		check.PanicsWith(t, sched.ErrNotSelf, func() { f.OnBlock(nil) })
		check.PanicsWith(t, sched.ErrNotMade, func() { new(sched.Fiber).OnBlock(nil) })
		check.PanicsWith(t, sched.ErrNoFiber, func() { (*sched.Fiber)(nil).OnBlock(nil) })
		p.Wake()
		p.Over.Wait()
	})
}

// hookThatPanics panics in the one or the other.
type hookThatPanics struct{ in string }

func (h hookThatPanics) BeforeBlock() { h.call("BeforeBlock") }
func (h hookThatPanics) AfterBlock()  { h.call("AfterBlock") }

func (h hookThatPanics) call(name string) {
	if name == h.in {
		panic("deliberate")
	}
}

// A panic in a hook ends the program, even if the task recovers from panics: the primitive that blocks has queued the
// fiber.
func TestHookPanics(t *testing.T) {
	for _, in := range []string{"BeforeBlock", "AfterBlock"} {
		crash.EachTask(t, []string{childHookPanics[in]}, func(t *testing.T, out string) {
			assert.Contains(t, out, in+" on scheduler worker")
			assert.Contains(t, out, "deliberate")
			assert.NotContains(t, out, "recovered")
			assert.Contains(t, out, "block_hook_test.go")
		})
	}
}

var childHookPanics = map[string]string{
	"BeforeBlock": newHookPanics("BeforeBlock"),
	"AfterBlock":  newHookPanics("AfterBlock"),
}

// A hook that blocks or yields ends the program, which names the cause, whether what it waits for is there or not.
func TestHookThatBlocks(t *testing.T) {
	for _, name := range hooksThatBlock {
		crash.EachTask(t, []string{name}, func(t *testing.T, out string) {
			assert.Contains(t, out, "on scheduler worker")
			assert.Contains(t, out, sched.ErrInWait.Error())
		})
	}
}

// hooksThatBlock registers a child for each.
var hooksThatBlock = func() (names []string) {
	for what, block := range map[string]func(){
		"sleeps": func() { sched.Sleep(time.Hour) },
		"yields": sched.Yield,
		"parks":  func() { park.Current().Unpark(); park.Current().Park(time.Time{}) },
	} {
		for _, after := range []bool{false, true} {
			names = append(names, crash.NewTask(fmt.Sprintf("a hook %s, after %v", what, after), func() {
				h := &hook{t: new(testing.T), fiber: sched.Current(), before: block}
				if after {
					h.before, h.after = nil, block
				}
				h.fiber.OnBlock(h)
				h.fiber.WaitFor(nil, time.Millisecond, func() bool { return false })
			}))
		}
	}
	return names
}()

// newHookPanics registers a child with a hook that panics in that call.
func newHookPanics(in string) string {
	return crash.NewTask("a hook panics in "+in, func() {
		defer func() {
			fmt.Println("recovered", recover())
			os.Exit(1)
		}()
		sched.Current().OnBlock(hookThatPanics{in})
		park.Current().Park(time.Now().Add(time.Millisecond))
	})
}
