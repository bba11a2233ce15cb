package dispatch

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func start(t *testing.T, c *Context) {
	t.Helper()
	require.NoError(t, c.Start())
}

// join waits for c, and fails the test if it does not stop.
func join(t *testing.T, c *Context) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- c.Join() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(hang):
		t.Fatal("the context does not stop")
	}
}

// do makes a task of f.
func do(f func()) TopLevel { return TopLevel{Run: f} }

// engineOf is the engine of a context that runs.
func engineOf(c *Context) *uring.Engine { return c.run.Load().device.Engine }

// A round runs the tasks that were queued at its start: a task that submits the next one forever does not keep input
// and output waiting.
func TestRoundEnds(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		c := NewContext(options)
		completed, tasks := false, 0
		var again func()
		again = func() {
			if tasks++; !completed && tasks < 1_000_000 {
				require.NoError(t, c.TrySubmit(do(again)))
			}
		}
		require.NoError(t, c.Submit(do(func() {
			_ = engineOf(c).Submit(&uring.Request{
				Entry: uring.Entry{Op: uring.OpNop}, Completed: func(uring.Completion) { completed = true },
			})
		})))
		require.NoError(t, c.Submit(do(again)))
		start(t, c)
		join(t, c)
		require.True(t, completed)
		require.Less(t, tasks, 1000, "the tasks went first")
	})
}

// The queue gives a round only what was there at its start, and the next round waits until all of that has begun: so
// the limit holds.
func TestRounds(t *testing.T) {
	q := newTaskQueue(3)
	var order []int
	begun := 0
	begin := func() { begun++ }
	put := func(n int) bool {
		return q.put(atOnce, task{TopLevel: do(func() { order = append(order, n) })}) == nil
	}
	require.True(t, put(1) && put(2) && put(3))
	require.False(t, put(4), "it is full")
	require.False(t, q.ready(), "it is not open")
	q.round(begin)
	require.Zero(t, begun)
	q.open.Store(true)
	require.True(t, q.ready())
	q.round(begin)
	require.Equal(t, 3, begun)
	require.Empty(t, order, "nothing runs inside")
	require.True(t, put(5))
	for range 3 {
		require.False(t, q.ready(), "tasks of the round have not begun")
		q.round(begin)
		require.Equal(t, 3, begun)
		q.next().run(nil)
	}
	q.round(begin)
	require.Equal(t, 4, begun)
	q.next().run(nil)
	require.Equal(t, []int{1, 2, 3, 5}, order)
	require.Zero(t, q.len())
}

// Requests keep a context from stopping; internal ones do not.
func TestStopRule(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		c := NewContext(options)
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		readable := uring.Entry{Op: uring.OpPoll, FD: int32(ends[0]), Flags: unix.POLLIN}
		time.AfterFunc(20*time.Millisecond, func() { _, _ = unix.Write(ends[1], []byte("x")) })
		over := false
		require.NoError(t, c.Submit(do(func() {
			_ = engineOf(c).Submit(&uring.Request{
				Entry: readable, Completed: func(uring.Completion) { over = true },
			})
		})))
		start(t, c)
		join(t, c)
		require.True(t, over)
		_, err = unix.Read(ends[0], make([]byte, 1))
		require.NoError(t, err)

		require.NoError(t, c.Submit(do(func() {
			_ = engineOf(c).Submit(&uring.Request{
				Entry: readable, Internal: true, Completed: func(uring.Completion) {},
			})
		})))
		start(t, c)
		join(t, c)
	})
}

// pin keeps b where it is until the test ends, and returns its address.
func pin(t *testing.T, b []byte) uintptr {
	var pin runtime.Pinner
	pin.Pin(&b[0])
	t.Cleanup(pin.Unpin)
	return uintptr(unsafe.Pointer(&b[0]))
}

// A chain of requests, each begun when the one before has completed.
func TestCompletionBeginsTheNext(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		c := NewContext(options)
		text, back := []byte("x"), make([]byte, 1)
		out := uring.Entry{Op: uring.OpSend, FD: int32(ends[1]), Addr: pin(t, text), Length: 1}
		in := uring.Entry{Op: uring.OpReceive, FD: int32(ends[0]), Addr: pin(t, back), Length: 1}
		n := 0
		var step func(uring.Completion)
		step = func(done uring.Completion) {
			require.EqualValues(t, 1, done.Result)
			if n++; n < 200 {
				next := &uring.Request{Entry: in, Completed: step}
				if n%2 == 0 {
					next.Entry = out
				}
				_ = engineOf(c).Submit(next)
			}
		}
		require.NoError(t, c.Submit(do(func() { _ = engineOf(c).Submit(&uring.Request{Entry: out, Completed: step}) })))
		start(t, c)
		join(t, c)
		require.Equal(t, 200, n)
	})
}

// While a context does not run, its Engines dial nothing.
func TestNoDialBetweenRuns(t *testing.T) {
	eachDriver(t, func(t *testing.T, options Options) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		c := NewContext(options)
		dial := func() error {
			conn, err := fiberio.Dial(context.Background(), c.Engines(), "tcp", l.Addr().String())
			if err == nil {
				err = conn.Close()
			}
			return err
		}
		for range 2 {
			require.ErrorIs(t, dial(), uring.ErrClosed)
			result := make(chan error, 1)
			require.NoError(t, c.Submit(do(func() { result <- dial() })))
			start(t, c)
			join(t, c)
			require.NoError(t, <-result)
		}
		require.ErrorIs(t, dial(), uring.ErrClosed)
	})
}
