package uring_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/dispatch"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// crowd calls f n times at once: on goroutines, or if s is not nil on its fibers. It returns when all calls have
// returned.
func crowd(t *testing.T, s *sched.Scheduler, n int, f func(i int)) (wait func()) {
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		call := func() {
			defer all.Done()
			f(i)
		}
		if s == nil {
			go call()
		} else {
			require.NoError(t, s.Go(call))
		}
	}
	return all.Wait
}

// eachSide runs test with the engines of each driver, for callers that are goroutines, when s is nil, and for callers
// that are fibers of s. It checks that nothing is left.
func eachSide(
	t *testing.T, options uring.Options, test func(t *testing.T, s *sched.Scheduler, engines *uring.Engines),
) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		options.Driver = driver
		t.Run("goroutines", func(t *testing.T) {
			leaks.Check(t)
			engines := uring.New(options)
			test(t, nil, engines)
			require.NoError(t, engines.Close())
		})
		t.Run("fibers", func(t *testing.T) {
			leaks.Check(t)
			engines, s := attach(t, options, sched.Config{Workers: 2})
			test(t, s, engines)
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
	})
}

// Thousands of requests are under way by a driver that has room for a handful: both rings of the kernel overflow, and
// none is lost.
func TestManyRequestsByASmallRing(t *testing.T) {
	requests := 10_000
	if testing.Short() || suite.Slow() || suite.AddressSanitizer {
		requests = 1_000
	}
	eachSide(t, uring.Options{Requests: 1}, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		var ins, outs [20]int // an epoll driver looks at all that wait for a descriptor
		for i := range ins {
			ins[i], outs[i] = pipe(t)
		}
		var in [256]atomic.Int64
		begun := make(chan struct{}, requests)
		wait := crowd(t, s, requests, func(i int) {
			b := make([]byte, 1)
			begun <- struct{}{}
			n, err := receiveBy(here(engines), ins[i%len(ins)], b)
			assert.NoError(t, err)
			assert.Equal(t, 1, n)
			in[b[0]].Add(1)
		})
		for range requests {
			<-begun
		}
		each := make([]byte, requests/len(ins))
		for i := range each {
			each[i] = byte(i)
		}
		for _, out := range outs {
			n, err := unix.Write(out, each)
			require.NoError(t, err)
			require.Equal(t, len(each), n)
		}
		wait()
		var want [256]int64
		for i := range each {
			want[byte(i)] += int64(len(ins))
		}
		for b := range want {
			require.Equal(t, want[b], in[b].Load(), "how often %d has been read", b)
		}
	})
}

// A driver has no more room than a kernel gives, and no less than it needs, whatever is asked for.
func TestRequestsOfAnyNumber(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		for _, n := range []int{-1, 0, 1, 3, 1 << 40} {
			engines := uring.New(uring.Options{Driver: driver, Requests: n})
			in, out := pipe(t)
			_, err := sendBy(here(engines), out, []byte("x"))
			require.NoError(t, err)
			_, err = receiveBy(here(engines), in, make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, engines.Close())
		}
	})
}

// Engines that are closed while goroutines wait for them end each wait with ErrClosed, and take no more.
func TestEnginesClosedUnderLoad(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		rounds := 10
		if testing.Short() {
			rounds = 2
		}
		for range rounds {
			engines := uring.New(uring.Options{Driver: driver, Requests: 8})
			e := here(engines)
			in, out := pipe(t)
			var served atomic.Int64
			wait := crowd(t, nil, 50, func(i int) {
				b := make([]byte, 1)
				for {
					var err error
					if i%2 == 0 {
						_, err = receiveBy(e, in, b)
					} else {
						_, err = sendBy(e, out, b)
					}
					if err != nil {
						assert.ErrorIs(t, err, uring.ErrClosed)
						return
					}
					served.Add(1)
				}
			})
			for served.Load() < 100 {
				time.Sleep(50 * time.Microsecond)
			}
			require.NoError(t, engines.Close())
			wait()
			_, err := receiveBy(e, in, make([]byte, 1))
			require.ErrorIs(t, err, uring.ErrClosed)
			_, err = engines.Here()
			require.ErrorIs(t, err, uring.ErrClosed)
			require.NoError(t, engines.Close())
		}
	})
}

// What goroutines do by the engine of a worker ends when its scheduler is closed, or goes on by another engine if it
// belongs to a connection.
func TestSchedulerClosedUnderGoroutines(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 2})
		l := listen(t, engines, "tcp")
		client, server, err := connect(engines, l)
		require.NoError(t, err)
		got := make(chan error, 1)
		go func() {
			b := make([]byte, 5)
			_, err := io.ReadFull(server, b)
			if err == nil && string(b) != "hello" {
				err = errors.New("got " + string(b))
			}
			got <- err
		}()
		e, in := here(engines), 0
		in, _ = pipe(t)
		failed := make(chan error, 1)
		go func() {
			_, err := receiveBy(e, in, make([]byte, 1))
			failed <- err
		}()
		accepted := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			accepted <- err
		}()
		for e.Pending() == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-failed, uring.ErrClosed)
		_, err = client.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, <-got)
		require.NoError(t, engines.Close())
		require.ErrorIs(t, <-accepted, uring.ErrClosed)
		_, err = server.Read(make([]byte, 1))
		require.ErrorIs(t, err, uring.ErrClosed)
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		require.NoError(t, l.Close())
	})
}

// Engines that are closed before their scheduler end what its fibers have under way, and refuse more. The workers go
// on.
func TestEnginesClosedBeforeTheirScheduler(t *testing.T) {
	leaks.Check(t)
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		in, out := pipe(t)
		var waiting atomic.Int32
		var closed atomic.Bool
		waits := func(f func() error) func() error {
			return func() error {
				waiting.Add(1)
				defer waiting.Add(-1)
				return expect(uring.ErrClosed, f())
			}
		}
		busy := func() error {
			for !closed.Load() || waiting.Load() > 0 {
				sched.Yield()
			}
			return nil
		}
		require.NoError(t, onFibers(t, s,
			waits(func() error { _, err := l.Accept(); return err }),
			waits(func() error { _, err := io.Copy(io.Discard, client); return err }),
			waits(func() error { _, err := io.Copy(client, &endless{}); return err }),
			waits(func() error {
				e, err := engines.Here()
				if err == nil { // else they have been closed since this fiber was counted
					_, err = receiveBy(e, in, make([]byte, 1))
				}
				return err
			}),
			busy, busy, // a worker that is never idle
			func() error {
				for waiting.Load() < 4 {
					sched.Yield()
				}
				defer closed.Store(true)
				return engines.Close()
			},
		))
		require.NoError(t, onFibers(t, s, func() error {
			_, err := engines.Here()
			return expect(uring.ErrClosed, err)
		}, func() error {
			_, err := fiberio.Dial(context.Background(), engines, l.Addr().Network(), l.Addr().String())
			return expect(uring.ErrClosed, err)
		}, func() error {
			_, err := server.Read(make([]byte, 1))
			return expect(uring.ErrClosed, err)
		}))
		require.NoError(t, onFibers(t, s, func() error {
			return errors.Join(client.Close(), server.Close(), l.Close())
		}))
		_, err := unix.Write(out, []byte("x"))
		require.NoError(t, err)
	})
}

// endless is a reader without an end.
type endless struct{}

func (*endless) Read(p []byte) (int, error) { return len(p), nil }

// Engines that are closed while fibers read whole files that have not ended, such as pipes, end that as well.
func TestEnginesClosedUnderReadFile(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1})
		name := fifo(t)
		writer, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		e, read := here(engines), make(chan error, 2)
		for range cap(read) {
			require.NoError(t, s.Go(func() {
				_, err := fiberio.ReadFile(context.Background(), engines, name)
				read <- err
			}))
		}
		for s.Stats().Blocked < cap(read) || e.Pending() == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		require.NoError(t, engines.Close())
		for range cap(read) {
			require.ErrorIs(t, receive(t, read), uring.ErrClosed)
		}
		require.NoError(t, s.Close())
		require.NoError(t, writer.Close())
	})
}

// A program whose Run function closes the engines comes to its end, although a task accepts connections.
func TestEnginesClosedInRun(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines := uring.New(uring.Options{Driver: driver})
		cfg := sched.Config{Workers: 1}
		engines.Attach(&cfg)
		l := listen(t, engines, "tcp")
		accepted := make(chan error, 1)
		inTime(t, "Run", func() error {
			return sched.Run(cfg, func() {
				must(sched.Schedule(func() {
					_, err := l.Accept()
					accepted <- errors.Join(expect(uring.ErrClosed, err), l.Close())
				}))
				sched.Yield()
				must(engines.Close())
			})
		})
		require.NoError(t, <-accepted)
		_, err := sched.New(cfg)
		require.ErrorIs(t, err, uring.ErrClosed)
	})
}

// The engines of a context may be closed, too: its tasks are told, and it comes to its end.
func TestEnginesOfAContextClosed(t *testing.T) {
	eachContext(t, func(t *testing.T, options dispatch.Options) {
		c := dispatch.NewContext(options)
		l := listen(t, c.Engines(), "tcp")
		waiting, accepted := make(chan struct{}), make(chan error, 1)
		submit(c, func() {
			close(waiting)
			_, err := l.Accept()
			accepted <- errors.Join(expect(uring.ErrClosed, err), l.Close())
		})
		start(t, c)
		<-waiting
		require.NoError(t, c.Engines().Close())
		require.NoError(t, receive(t, accepted))
		join(t, c)
		require.ErrorIs(t, c.Start(), uring.ErrClosed)
	})
}

// Engines that are closed before they are used say so, wherever they are used first.
func TestClosedEngines(t *testing.T) {
	engines := uring.New(uring.Options{})
	require.NoError(t, engines.Close())
	dir := t.TempDir()
	for op, f := range map[string]func() error{
		"Here": func() error { _, err := engines.Here(); return err },
		"Listen": func() error {
			_, err := fiberio.Listen(context.Background(), engines, "tcp", "127.0.0.1:0")
			return err
		},
		"Dial":     func() error { _, err := fiberio.Dial(context.Background(), engines, "tcp", "127.0.0.1:1"); return err },
		"Open":     func() error { _, err := fiberio.Open(context.Background(), engines, dir); return err },
		"ReadFile": func() error { _, err := fiberio.ReadFile(context.Background(), engines, dir+"/none"); return err },
		"FS":       func() error { _, err := fiberio.FS(engines, dir).Open("none"); return err },
	} {
		require.ErrorIs(t, f(), uring.ErrClosed, op)
	}
}

// Engines may be closed while callers begin the first one: each caller has an engine, or is told that there is none.
func TestEnginesClosedWhileTheFirstBegins(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		for round := range suite.Scaled(400, 50) {
			engines := uring.New(uring.Options{Driver: driver})
			wait := crowd(t, nil, 6, func(i int) {
				if i%2 == 0 {
					if _, err := engines.Here(); err != nil {
						assert.ErrorIs(t, err, uring.ErrClosed)
					}
					return
				}
				for range round % 8 {
					runtime.Gosched()
				}
				assert.NoError(t, engines.Close())
			})
			wait()
			require.Zero(t, engines.Stats(), "an engine has not ended")
		}
	})
}

// One connection, many readers and writers, fibers and goroutines: each record arrives once, and whole.
func TestConnWithManyUsers(t *testing.T) {
	const users, size = 25, 300
	records := suite.Scaled(15, 4)
	suite.KeepCollecting(t)
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		record := func(user, n int) []byte {
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(user + n + i)
			}
			b[0], b[1] = byte(user), byte(n)
			return b
		}
		write := func(user int) {
			for n := range records {
				if m, err := client.Write(record(user, n)); m != size || err != nil {
					t.Errorf("%d of %d bytes are written: %v", m, size, err)
				}
			}
		}
		waits := []func(){
			crowd(t, nil, users, write),
			crowd(t, s, users, func(i int) { write(users + i) }),
		}
		seen := make(map[[2]byte]bool)
		b := make([]byte, size)
		for range 2 * users * records {
			_, err := io.ReadFull(server, b)
			require.NoError(t, err)
			user, n := int(b[0]), int(b[1])
			require.False(t, seen[[2]byte(b)], "a record of user %d comes twice", user)
			seen[[2]byte(b)] = true
			require.Equal(t, record(user, n), b, "record %d of user %d", n, user)
		}
		for _, wait := range waits {
			wait()
		}
	})
}

// A task that panics takes none of the others with it that wait on its worker.
func TestPanicBesideWaits(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		engines := uring.New(uring.Options{Driver: driver})
		panicked := make(chan any, 1)
		cfg := sched.Config{Workers: 1, Panicked: func(value any, _ []byte) { panicked <- value }}
		engines.Attach(&cfg)
		s, err := sched.New(cfg)
		require.NoError(t, err)
		l := listen(t, engines, "tcp")
		client, server := pair(t, s, engines, l)
		read := make(chan error, 1)
		require.NoError(t, s.Go(func() {
			_, err := io.ReadFull(server, make([]byte, 2))
			read <- err
		}))
		require.NoError(t, s.Go(func() {
			_, err := client.Write([]byte("a"))
			panic(err)
		}))
		<-panicked
		require.NoError(t, s.Go(func() { _, _ = client.Write([]byte("b")) }))
		require.NoError(t, <-read)
		require.NoError(t, l.Close())
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		require.NoError(t, s.Close())
		require.NoError(t, engines.Close())
	})
}
