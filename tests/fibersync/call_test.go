package fibersync_test

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
	"fiberlab/tests/internal/check"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Every call blocks its thread until a task has run; with one worker there is no
// other thread for that task.
func TestBlockingCallLeavesTheWorkerToOthers(t *testing.T) {
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
func TestCallReturnsWhatTheFunctionDoes(t *testing.T) {
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

// A call starts tasks of its caller's scheduler, however it starts them, and may wait for them. This holds on one
// worker, and on none, where the thread of the bound goroutine runs them.
func TestBlockingCallBelongsToTheScheduler(t *testing.T) {
	suite.EachScheduler(t, mixedWorkers(), func(t *testing.T, s *sched.Scheduler) {
		asTask := func() (*sched.Scheduler, error) { return sched.Get(), nil }
		call := func() {
			assert.Nil(t, sched.Current())
			assert.Same(t, s, sched.Get())
			over := schedtest.NewLatch(1)
			assert.NoError(t, s.Enqueue(sched.Task{Func: func() {
				assert.NotNil(t, sched.Current())
				over.Done()
			}}))
			over.Wait()
			on, err := fibersync.Async(asTask).Get()
			assert.NoError(t, err)
			assert.Same(t, s, on)
			on, err = fibersync.CallContext(context.Background(), asTask)
			assert.NoError(t, err)
			assert.Same(t, s, on, "a call inside of a call")
			err = s.Enqueue(sched.Task{Func: func() {}, Flags: sched.SameThread})
			assert.ErrorIs(t, err, sched.ErrNotBound)
		}
		schedtest.Perform(t, s, func() {
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
func TestBlockingCallStartsTasksWhileItsSchedulerCloses(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		s, err := sched.New(cfg)
		require.NoError(t, err)
		release, ended := make(chan struct{}), schedtest.NewLatch(1)
		begun := schedtest.NewLatch(1)
		schedtest.Schedule(t, s, func() {
			fibersync.BlockingCall(func() {
				begun.Done()
				<-release
				schedtest.Schedule(t, s, ended.Done)
				ended.Wait()
			})
		})
		begun.Wait()
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		for s.Go(func() {}) == nil {
			runtime.Gosched()
		}
		close(release)
		require.NoError(t, <-closed)
	})
}

func TestBlockingCallsAreBounded(t *testing.T) {
	const most = 2
	suite.EachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		cfg.MaxCalls = most
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			var running, reached atomic.Int64
			over, release := schedtest.NewLatch(10), make(chan struct{})
			for range 10 {
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					fibersync.BlockingCall(func() {
						defer running.Add(-1)
						n := running.Add(1)
						assert.LessOrEqual(t, n, int64(most))
						if n == most && reached.CompareAndSwap(0, 1) {
							close(release)
						}
						<-release
						fibersync.BlockingCall(func() {}) // inside of a call, it needs no further turn
					})
				})
			}
			over.Wait()
			assert.NotZero(t, reached.Load())
			schedtest.Perform(t, s, func() {
				ctx, cancel := context.WithCancel(context.Background())
				held := schedtest.NewLatch(most)
				end := make(chan struct{})
				for range most {
					schedtest.Schedule(t, s, func() {
						fibersync.BlockingCall(func() {
							held.Done()
							<-end
						})
					})
				}
				held.Wait()
				waits := newStanding(ctx)
				go func() {
					waits.inLine.Wait()
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

// requirePanic checks that value is a panic that has been brought from PanicWith(want).
func requirePanic(t *testing.T, want, value any) {
	t.Helper()
	err, _ := value.(error)
	var p *fibersync.PanicError
	if assert.ErrorAs(t, err, &p, "not a panic from elsewhere: %v", value) {
		assert.Equal(t, want, p.Value)
		assert.Contains(t, string(p.Stack), "crash.PanicWith")
		assert.Contains(t, err.Error(), "crash.PanicWith")
	}
}

func TestBlockingCallPassesPanicsOn(t *testing.T) {
	eachCompany(t, func(c *company) {
		for i := range 4 {
			c.start(func() {
				isFiber := sched.Current() != nil
				value := recovered(func() { fibersync.BlockingCall(func() { crash.PanicWith(i) }) })
				if isFiber {
					requirePanic(c.t, i, value)
				} else {
					assert.Equal(c.t, i, value)
				}
				value = recovered(func() {
					_, _ = fibersync.CallContext(context.Background(), func() (int, error) {
						crash.PanicWith(errFuture)
						return 0, nil
					})
				})
				requirePanic(c.t, errFuture, value)
				assert.ErrorIs(c.t, value.(error), errFuture)
			})
		}
	})
}

func TestBlockingCallReportsGoexit(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.task(func() {
			if sched.Current() != nil {
				check.PanicsWith(c.t, fibersync.ErrGoexit, func() { fibersync.BlockingCall(runtime.Goexit) })
			}
			check.PanicsWith(
				c.t, fibersync.ErrGoexit,
				func() { _ = fibersync.BlockingCallContext(context.Background(), runtime.Goexit) },
			)
		})
	})
}

// Half of the callers give up because of a deadline, half because of the cancel that
// follows when all their functions have begun.
func TestBlockingCallContext(t *testing.T) {
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
func TestCallStormOfCancelsAndReturns(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(20, 5) {
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

// A scheduler that waits for a call to end is not stuck, however long that takes, and how many wait for their turn.
func TestBlockingCallIsNoDeadlock(t *testing.T) {
	suite.EachConfig(t, mixedWorkers(), func(t *testing.T, cfg sched.Config) {
		cfg.GiveUpAfter, cfg.MaxCalls = time.Millisecond, 1
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 3 {
				schedtest.Schedule(t, s, func() { fibersync.BlockingCall(func() { time.Sleep(5 * cfg.GiveUpAfter) }) })
			}
		})
	})
}

// The panic of a call that has been given up has no caller left to be told.
var childCallPanics = crash.NewTask("abandoned call panics", func() {
	ctx, cancel := context.WithCancel(context.Background())
	abandoned := make(chan struct{})
	err := fibersync.BlockingCallContext(ctx, func() {
		cancel()
		<-abandoned
		crash.Panic()
	})
	if err != context.Canceled {
		os.Exit(1)
	}
	close(abandoned)
	select {}
})

func TestAbandonedCallPanics(t *testing.T) {
	crash.EachTask(t, []string{childCallPanics}, func(t *testing.T, out string) {
		crash.RequirePanic(t, out)
	})
}
