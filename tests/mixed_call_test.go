package tests

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/mixed"
)

// Every call blocks its thread until a task has run; with one worker there is no
// other thread for that task.
func TestMixedBlockingCallLeavesTheWorkerToOthers(t *testing.T) {
	eachCompany(t, func(c *company) {
		release := make(chan struct{})
		for range 10 {
			c.start(func() {
				ended := false
				mixed.BlockingCall(func() {
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
				v, err := mixed.Call(func() (int, error) {
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
	var p *mixed.PanicError
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
				value := recovered(func() { mixed.BlockingCall(func() { panicWith(i) }) })
				if isFiber {
					requirePanic(c.t, i, value)
				} else {
					assert.Equal(c.t, i, value)
				}
				value = recovered(func() {
					_, _ = mixed.CallContext(context.Background(), func() (int, error) {
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
				panicsWith(c.t, mixed.ErrGoexit, func() { mixed.BlockingCall(runtime.Goexit) })
			}
			panicsWith(c.t, mixed.ErrGoexit, func() { _ = mixed.BlockingCallContext(context.Background(), runtime.Goexit) })
		})
	})
}

// Half of the callers give up because of a deadline, half because of the cancel that
// follows when all their functions have begun.
func TestMixedBlockingCallContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		late, begun, ended := mixed.NewLatch(5), mixed.NewLatch(5), mixed.NewLatch(5)
		for i := range 10 {
			c.start(func() {
				if i%2 == 0 {
					short, stop := context.WithTimeout(ctx, time.Millisecond)
					defer stop()
					err := mixed.BlockingCallContext(short, func() { <-release })
					assert.Equal(c.t, context.DeadlineExceeded, err)
					late.CountDown()
					return
				}
				v, err := mixed.CallContext(ctx, func() (int, error) {
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
		err := mixed.BlockingCallContext(ctx, func() { assert.Fail(c.t, "called after its context was over") })
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
					v, err := mixed.CallContext(ctx, func() (int, error) {
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
			schedule(t, s, func() { mixed.BlockingCall(func() { time.Sleep(5 * cfg.Patience) }) })
		})
	})
}

// Nobody is left to be told of the panic of a call that has been given up.
var childCallPanics = newTaskCrash("abandoned call panics", func() {
	ctx, cancel := context.WithCancel(context.Background())
	abandoned := make(chan struct{})
	err := mixed.BlockingCallContext(ctx, func() {
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
