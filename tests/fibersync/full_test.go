package fibersync_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// roomOfFull is how many tasks onFull's schedulers have room for.
const roomOfFull = 3

// filler takes the places of a scheduler.
type filler struct {
	t      *testing.T
	s      *sched.Scheduler
	queued atomic.Int64 // tasks of it that have not begun
}

// onFull runs test on each kind of scheduler with one worker and room for some tasks.
func onFull(t *testing.T, test func(t *testing.T, s *sched.Scheduler, f *filler)) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		cfg.MaxQueued = roomOfFull
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) { test(t, s, &filler{t: t, s: s}) })
	})
}

// fill queues tasks until all places are taken, and returns how many were free.
func (f *filler) fill() (free int) {
	for {
		f.queued.Add(1)
		err := f.s.TryEnqueue(sched.Task{Func: func() { f.queued.Add(-1) }})
		if err != nil {
			f.queued.Add(-1)
			assert.ErrorIs(f.t, err, sched.ErrFull)
			return free
		}
		free++
	}
}

// drain waits, on a goroutine, until the tasks of fill have begun.
func (f *filler) drain() {
	for end := time.Now().Add(schedtest.Standstill); f.queued.Load() > 0; runtime.Gosched() {
		require.True(f.t, time.Now().Before(end), "%d tasks do not begin", f.queued.Load())
	}
}

// blocks counts how often a task blocks.
type blocks struct{ n int }

func (b *blocks) BeforeBlock() { b.n++ }
func (b *blocks) AfterBlock()  {}

// asSettled are the ways in which a callback is started: by the code that settles a future or gives a ticket back, or
// at once. Each has call started.
var asSettled = map[string]func(call func()){
	"Set": func(call func()) {
		var p fibersync.Promise[int]
		fibersync.Then(p.Future(), func(int, error) (int, error) { call(); return 0, nil })
		p.Set(1)
	},
	"Fail": func(call func()) {
		var p fibersync.Promise[int]
		fibersync.Then(p.Future(), func(int, error) (int, error) { call(); return 0, nil })
		p.Fail(errors.New("failed"))
	},
	"TrySettle": func(call func()) {
		var p fibersync.Promise[int]
		fibersync.Then(p.Future(), func(int, error) (int, error) { call(); return 0, nil })
		p.TrySettle(1, nil)
	},
	"Then of a settled one": func(call func()) {
		var p fibersync.Promise[int]
		p.Set(1)
		fibersync.Then(p.Future(), func(int, error) (int, error) { call(); return 0, nil })
	},
	"Done": func(call func()) {
		var q fibersync.TicketQueue
		first, second := q.Take(), q.Take()
		second.OnCall(call)
		first.Done()
	},
	"OnCall of a called one": func(call func()) {
		var q fibersync.TicketQueue
		q.Take().OnCall(call)
	},
}

// A callback is started without waiting for room: the code that settles may hold a lock. No place is taken twice, nor
// given back twice.
func TestFullSchedulerDoesNotHoldUpCallbacks(t *testing.T) {
	const callbacks = 2*roomOfFull + 1
	for name, settle := range asSettled {
		t.Run(name, func(t *testing.T) {
			onFull(t, func(t *testing.T, s *sched.Scheduler, f *filler) {
				var called atomic.Int64
				for range 3 {
					over := schedtest.NewLatch(callbacks)
					schedtest.Perform(t, s, func() {
						assert.Equal(t, roomOfFull, f.fill(), "free places")
						b := new(blocks)
						sched.Current().OnBlock(b)
						for range callbacks {
							settle(func() { called.Add(1); over.Done() })
						}
						sched.Current().OnBlock(nil)
						assert.Zero(t, b.n, "the task was blocked so often")
					})
					over.Wait()
					f.drain()
				}
				assert.EqualValues(t, 3*callbacks, called.Load())
			})
		})
	}
}

// A callback takes a place if one is free, so that other tasks find it taken.
func TestCallbacksTakeFreePlaces(t *testing.T) {
	for name, settle := range asSettled {
		t.Run(name, func(t *testing.T) {
			onFull(t, func(t *testing.T, s *sched.Scheduler, f *filler) {
				schedtest.Perform(t, s, func() {
					settle(func() {})
					assert.Equal(t, roomOfFull-1, f.fill(), "free places")
				})
			})
		})
	}
}

// A blocking call that settles does not wait for room: the functions that it starts are tasks of its scheduler.
func TestFullSchedulerDoesNotHoldUpBlockingCalls(t *testing.T) {
	for name, settle := range asSettled {
		t.Run(name, func(t *testing.T) {
			onFull(t, func(t *testing.T, s *sched.Scheduler, f *filler) {
				full, settled := make(chan struct{}), make(chan struct{})
				over := schedtest.NewLatch(2)
				schedtest.Schedule(t, s, func() {
					fibersync.BlockingCall(func() {
						<-full
						settle(func() {
							assert.Same(t, s, sched.Get())
							over.Done()
						})
						close(settled)
					})
					over.Done()
				})
				holds, end := make(chan struct{}), make(chan struct{})
				schedtest.Schedule(t, s, func() { close(holds); <-end })
				<-holds
				f.fill()
				close(full)
				waits := false
				for isSettled := false; !isSettled && !waits; runtime.Gosched() {
					select {
					case <-settled:
						isSettled = true
					default:
						waits = s.Stats().Enqueuing > 0
					}
				}
				close(end)
				over.Wait()
				assert.False(t, waits, "the call waited for room")
			})
		})
	}
}

// What a task starts itself waits for room, and gets it.
func TestAsyncWaitsForRoom(t *testing.T) {
	onFull(t, func(t *testing.T, s *sched.Scheduler, f *filler) {
		schedtest.Perform(t, s, func() {
			f.fill()
			b := new(blocks)
			sched.Current().OnBlock(b)
			future := fibersync.Async(func() (int, error) { return 7, nil })
			sched.Current().OnBlock(nil)
			assert.Equal(t, 1, b.n, "Async was blocked so often")
			v, err := future.Get()
			assert.NoError(t, err)
			assert.Equal(t, 7, v)
		})
	})
}
