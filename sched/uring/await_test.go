package uring_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched/uring"
	"fiberlab/sched/uring/uringtest"
)

// receiveByte is an operation that reads one byte when there is one.
func receiveByte(fd int) uring.Entry {
	return uring.Entry{Op: uring.OpReceive, FD: int32(fd), Length: 1}
}

// doContext waits for an operation with memory until ctx is done.
func doContext(ctx context.Context, e *uring.Engine, op uring.Entry, memory []byte) (uring.Completion, error) {
	a := new(uring.Operation)
	stop := context.AfterFunc(ctx, a.Nudge)
	defer stop()
	return a.Await(e, op, memory, until{ctx})
}

// until ends a wait when its context is done.
type until struct{ ctx context.Context }

func (u until) Ended() (time.Time, error) { return time.Time{}, context.Cause(u.ctx) }

// sockets returns both ends of a connection.
func sockets(t *testing.T) (a, b int) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Close(ends[0])
		_ = unix.Close(ends[1])
	})
	return ends[0], ends[1]
}

// A context ends a wait, with its cause; the bytes that come afterwards are for the next operation.
func TestWaitEndsByContext(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		in, out := sockets(t)
		b := make([]byte, 1)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(5*time.Millisecond, func() { cancel(cause) })
		var errs []error
		var late uring.Completion
		run(func() {
			e, err := engines.Here()
			errs = append(errs, err)
			for range 2 { // the second time, it is done before
				_, err = doContext(ctx, e, receiveByte(in), b)
				errs = append(errs, err)
			}
			_, err = unix.Write(out, []byte{7})
			errs = append(errs, err)
			late, err = e.Do(receiveByte(in), b)
			errs = append(errs, err)
		})
		require.Equal(t, []error{nil, cause, cause, nil, nil}, errs)
		require.EqualValues(t, 1, late.Result)
		require.EqualValues(t, 7, b[0])
	})
}

// Bytes that come together with the end of the wait are not lost.
func TestCancelledOperationsLoseNothing(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		in, out := sockets(t)
		b := make([]byte, 1)
		const bytes = 200
		var got []byte
		var failed error
		run(func() {
			e, err := engines.Here()
			for failed = err; len(got) < bytes && failed == nil; {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(60))*time.Microsecond)
				c, err := doContext(ctx, e, receiveByte(in), b)
				cancel()
				switch {
				case err == nil && c.Result == 1:
					got = append(got, b[0])
				case !errors.Is(err, context.DeadlineExceeded):
					failed = errors.Join(err, c.Err(), errors.New("neither a byte nor the end of the context"))
				}
			}
		}, func() {
			for i := range bytes {
				_, _ = unix.Write(out, []byte{byte(i)})
				if i%8 == 0 {
					time.Sleep(time.Duration(rand.IntN(60)) * time.Microsecond)
				}
			}
		})
		require.NoError(t, failed)
		for i, b := range got {
			require.Equal(t, byte(i), b)
		}
	})
}

// Operations end that the kernel has not seen yet, for there was no room; their engine serves others afterwards.
func TestWaitsEndBeforeTheyBegin(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{Requests: 2}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(5*time.Millisecond, cancel)
		const callers = 40
		var fs []func()
		errs := make([]error, callers)
		memory := make([]byte, callers)
		for i := range callers {
			in, _ := sockets(t)
			fs = append(fs, func() {
				e, err := engines.Here()
				if err == nil {
					_, err = doContext(ctx, e, receiveByte(in), memory[i:i+1])
				}
				errs[i] = err
			})
		}
		run(fs...)
		for _, err := range errs {
			require.Equal(t, context.Canceled, err)
		}
	})
}

// The memory of an operation lives until the operation is over, even if nothing else refers to it, and no longer.
func TestMemoryLivesAsLongAsItsOperation(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		in, out := sockets(t)
		var freed atomic.Bool
		begun, early := make(chan *uring.Engine, 1), make(chan bool, 1)
		go func() {
			for e := <-begun; e != nil && e.Idle(); time.Sleep(time.Millisecond) {
			}
			for range 3 {
				runtime.GC()
				time.Sleep(time.Millisecond) // for the cleanup
			}
			early <- freed.Load()
			_, _ = unix.Write(out, []byte{7})
		}()
		var c uring.Completion
		var errs [2]error
		run(func() {
			var e *uring.Engine
			e, errs[0] = engines.Here()
			begun <- e
			memory := make([]byte, 64<<10)
			runtime.AddCleanup(&memory[0], func(int) { freed.Store(true) }, 0)
			c, errs[1] = e.Do(receiveByte(in), memory)
		})
		require.NoError(t, errors.Join(errs[:]...))
		require.EqualValues(t, 1, c.Result)
		require.False(t, <-early, "the memory has been freed during the operation")
		require.Eventually(t, func() bool {
			runtime.GC()
			return freed.Load()
		}, 10*time.Second, time.Millisecond, "the operation is over, and its memory is kept")
	})
}

// Closing engines ends the waits of goroutines.
func TestWaitsEndWithTheEngine(t *testing.T) {
	for _, driver := range uring.Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			engines := uring.New(uring.Options{Driver: driver})
			e, err := engines.Here()
			if driver == uring.Uring && err != nil {
				uringtest.NoRing(t, err)
				return
			}
			require.NoError(t, err)
			in, _ := sockets(t)
			b := make([]byte, 1)
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				_, err := doContext(ctx, e, receiveByte(in), b)
				ended <- err
			}()
			require.NoError(t, engines.Close())
			require.ErrorIs(t, <-ended, uring.ErrClosed)
			_, err = e.Do(receiveByte(in), b)
			require.ErrorIs(t, err, uring.ErrClosed)
		})
	}
}
