package tests

import (
	"context"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// Every call blocks its thread until a task has run; with one worker there is no
// other thread for that task.
func TestMixedBlockingCallLeavesTheWorkerToOthers(t *testing.T) {
	eachCompany(t, func(c *company) {
		release := make(chan struct{})
		for range 10 {
			c.start(func() {
				ended := false
				fibersync.BlockingCall(func() {
					<-release
					ended = true
				})
				assert.True(c.t, ended)
			})
		}
		c.task(func() { close(release) })
	})
}

// A fiber's call is made by a goroutine that is no fiber, a goroutine's by itself.
func TestMixedCallReturnsWhatTheFunctionDoes(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range 4 {
			c.start(func() {
				me, isFiber := fiber.Self(), sched.Current() != nil
				v, err := fibersync.Call(func() (int, error) {
					assert.Nil(c.t, sched.Current())
					assert.Equal(c.t, isFiber, fiber.Self() != me)
					return 42, errFuture
				})
				assert.Equal(c.t, 42, v)
				assert.Equal(c.t, errFuture, err)
			})
		}
	})
}

// What a call starts are tasks of its caller's scheduler, by whatever means, and it may wait for them:
// also on one worker, and on none, where the thread of the bound goroutine runs them.
func TestMixedBlockingCallBelongsToTheScheduler(t *testing.T) {
	eachScheduler(t, mixedWorkers(), func(t *testing.T, s *sched.Scheduler) {
		asTask := func() (*sched.Scheduler, error) { return sched.Get(), nil }
		call := func() {
			assert.Nil(t, sched.Current())
			assert.Same(t, s, sched.Get())
			over := newLatch(1)
			assert.NoError(t, s.Enqueue(sched.Task{Func: func() {
				assert.NotNil(t, sched.Current())
				over.done()
			}}))
			over.wait()
			on, err := fibersync.Async(asTask).Get()
			assert.NoError(t, err)
			assert.Same(t, s, on)
			on, err = fibersync.CallContext(context.Background(), asTask)
			assert.NoError(t, err)
			assert.Same(t, s, on, "a call inside of a call")
			err = s.Enqueue(sched.Task{Func: func() {}, Flags: sched.SameThread})
			assert.ErrorIs(t, err, sched.ErrNotBound)
		}
		perform(t, s, func() {
			fibersync.BlockingCall(call)
			panics := recovered(func() {
				fibersync.BlockingCall(func() {
					call()
					panic(errFuture)
				})
			})
			assert.ErrorIs(t, panics.(error), errFuture)
			assert.Same(t, s, sched.Get())
		})
	})
}

// Tasks of a scheduler that is closing may make calls, and these may start tasks.
func TestMixedBlockingCallStartsTasksWhileItsSchedulerCloses(t *testing.T) {
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		s, err := sched.New(sched.Config{Workers: 1, Backend: b})
		require.NoError(t, err)
		release, ended := make(chan struct{}), newLatch(1)
		begun := newLatch(1)
		schedule(t, s, func() {
			fibersync.BlockingCall(func() {
				begun.done()
				<-release
				schedule(t, s, ended.done)
				ended.wait()
			})
		})
		begun.wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		for s.Go(func() {}) == nil {
			runtime.Gosched()
		}
		close(release)
		require.NoError(t, <-closed)
	})
}

func TestMixedBlockingCallsAreBounded(t *testing.T) {
	const most = 2
	eachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		cfg.MaxCalls = most
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var running, reached atomic.Int64
			over, release := newLatch(10), make(chan struct{})
			for range 10 {
				schedule(t, s, func() {
					defer over.done()
					fibersync.BlockingCall(func() {
						defer running.Add(-1)
						n := running.Add(1)
						assert.LessOrEqual(t, n, int64(most))
						if n == most && reached.CompareAndSwap(0, 1) {
							close(release)
						}
						<-release
						fibersync.BlockingCall(func() {}) // inside of a call, it needs no turn of its own
					})
				})
			}
			over.wait()
			assert.NotZero(t, reached.Load())
			perform(t, s, func() {
				ctx, cancel := context.WithCancel(context.Background())
				held := newLatch(most)
				end := make(chan struct{})
				for range most {
					schedule(t, s, func() {
						fibersync.BlockingCall(func() {
							held.done()
							<-end
						})
					})
				}
				held.wait()
				waits := newStanding(ctx)
				go func() {
					waits.inLine.wait()
					cancel()
				}()
				err := fibersync.BlockingCallContext(waits, func() { assert.Fail(t, "one call too many has begun") })
				assert.ErrorIs(t, err, context.Canceled)
				close(end)
			})
		})
	})
}

// recovered is what f panics with.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// requirePanic checks that value is a panic that has been brought from panicWith(want).
func requirePanic(t *testing.T, want, value any) {
	t.Helper()
	err, _ := value.(error)
	var p *fibersync.PanicError
	if assert.ErrorAs(t, err, &p, "not a panic from elsewhere: %v", value) {
		assert.Equal(t, want, p.Value)
		assert.Contains(t, string(p.Stack), "tests.panicWith")
		assert.Contains(t, err.Error(), "tests.panicWith")
	}
}

func TestMixedBlockingCallPassesPanicsOn(t *testing.T) {
	eachCompany(t, func(c *company) {
		for i := range 4 {
			c.start(func() {
				isFiber := sched.Current() != nil
				value := recovered(func() { fibersync.BlockingCall(func() { panicWith(i) }) })
				if isFiber {
					requirePanic(c.t, i, value)
				} else {
					assert.Equal(c.t, i, value)
				}
				value = recovered(func() {
					_, _ = fibersync.CallContext(context.Background(), func() (int, error) {
						panicWith(errFuture)
						return 0, nil
					})
				})
				requirePanic(c.t, errFuture, value)
				assert.ErrorIs(c.t, value.(error), errFuture)
			})
		}
	})
}

func TestMixedBlockingCallReportsGoexit(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.task(func() {
			if sched.Current() != nil {
				panicsWith(c.t, fibersync.ErrGoexit, func() { fibersync.BlockingCall(runtime.Goexit) })
			}
			panicsWith(c.t, fibersync.ErrGoexit, func() { _ = fibersync.BlockingCallContext(context.Background(), runtime.Goexit) })
		})
	})
}

// Half of the callers give up because of a deadline, half because of the cancel that
// follows when all their functions have begun.
func TestMixedBlockingCallContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		late, begun, ended := fibersync.NewLatch(5), fibersync.NewLatch(5), fibersync.NewLatch(5)
		for i := range 10 {
			c.start(func() {
				if i%2 == 0 {
					short, stop := context.WithTimeout(ctx, time.Millisecond)
					defer stop()
					err := fibersync.BlockingCallContext(short, func() { <-release })
					assert.Equal(c.t, context.DeadlineExceeded, err)
					late.CountDown()
					return
				}
				v, err := fibersync.CallContext(ctx, func() (int, error) {
					begun.CountDown()
					<-release
					ended.CountDown()
					return 1, nil
				})
				assert.Zero(c.t, v)
				assert.Equal(c.t, context.Canceled, err)
			})
		}
		late.Wait()
		begun.Wait()
		cancel()
		c.wait()
		close(release)
		ended.Wait() // they have run on all the same
		err := fibersync.BlockingCallContext(ctx, func() { assert.Fail(c.t, "called after its context was over") })
		assert.Equal(c.t, context.Canceled, err)
	})
}

// The end of a call and of its context race: either counts, as a whole.
func TestMixedCallStormOfCancelsAndReturns(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range scaled(20, 5) {
			ctx, cancel := context.WithCancel(context.Background())
			for range 6 {
				c.start(func() {
					v, err := fibersync.CallContext(ctx, func() (int, error) {
						runtime.Gosched()
						return 1, nil
					})
					if err == nil {
						assert.Equal(c.t, 1, v)
					} else {
						assert.Equal(c.t, context.Canceled, err)
						assert.Zero(c.t, v)
					}
				})
			}
			c.start(cancel)
			c.wait()
		}
	})
}

// A scheduler that waits for a call to end is not stuck, however long that takes.
func TestMixedBlockingCallIsNoDeadlock(t *testing.T) {
	eachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		cfg.Patience = time.Millisecond
		onScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			schedule(t, s, func() { fibersync.BlockingCall(func() { time.Sleep(5 * cfg.Patience) }) })
		})
	})
}

// Nobody is left to be told of the panic of a call that has been given up.
var childCallPanics = newTaskCrash("abandoned call panics", func() {
	ctx, cancel := context.WithCancel(context.Background())
	abandoned := make(chan struct{})
	err := fibersync.BlockingCallContext(ctx, func() {
		cancel()
		<-abandoned
		panicOnPurpose()
	})
	if err != context.Canceled {
		os.Exit(1)
	}
	close(abandoned)
	select {}
})

func TestMixedAbandonedCallPanics(t *testing.T) {
	eachTaskCrash(t, []string{childCallPanics}, func(t *testing.T, out string) {
		require.Contains(t, out, "boom 42")
		require.Contains(t, out, "tests.panicOnPurpose")
	})
}
