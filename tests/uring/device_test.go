package uring_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/suite"
)

// pipe returns both ends of a pair of sockets: tests send to out and receive from in.
func pipe(t *testing.T) (in, out int) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Close(ends[0])
		_ = unix.Close(ends[1])
	})
	return ends[0], ends[1]
}

// receiveBy receives into p by an engine.
func receiveBy(e *uring.Engine, fd int, p []byte) (int, error) {
	return transferBy(e, uring.OpReceive, fd, p)
}

// sendBy sends p by an engine.
func sendBy(e *uring.Engine, fd int, p []byte) (int, error) {
	return transferBy(e, uring.OpSend, fd, p)
}

// transferBy begins anew after a signal, and where a driver says EAGAIN as old kernels do.
func transferBy(e *uring.Engine, op uring.Op, fd int, p []byte) (int, error) {
	for {
		c, err := e.Do(uring.Entry{Op: op, FD: int32(fd), Length: uint32(len(p))}, p)
		if err == nil {
			err = c.Err()
		}
		if err != unix.EINTR && err != unix.EAGAIN {
			return int(c.Result), err
		}
	}
}

// eachAttached runs test on schedulers of each kind whose workers have engines of each driver.
func eachAttached(t *testing.T, test func(t *testing.T, s *sched.Scheduler, engines *uring.Engines)) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		suite.EachConfig(t, []int{1, 2}, func(t *testing.T, cfg sched.Config) {
			engines := uring.New(uring.Options{Driver: driver})
			engines.Attach(&cfg)
			cfg.GiveUpAfter = 20 * time.Millisecond
			s, err := sched.New(cfg)
			require.NoError(t, err)
			test(t, s, engines)
			if err := s.Close(); !errors.Is(err, sched.ErrClosed) {
				require.NoError(t, err)
			}
			require.NoError(t, engines.Close())
		})
	})
}

// here is the caller's engine.
func here(engines *uring.Engines) *uring.Engine {
	e, err := engines.Here()
	if err != nil {
		panic(err)
	}
	return e
}

// A fiber that yields until another one has read lets that read complete, also where the two are all that the worker
// has.
func TestReadBesideAFiberThatYields(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		in, out := pipe(t)
		var read, yields atomic.Bool
		fs := []func() error{func() error {
			defer read.Store(true)
			_, err := receiveBy(here(engines), in, make([]byte, 1))
			return err
		}}
		for range 2 { // one for each worker
			fs = append(fs, func() error {
				for !read.Load() {
					yields.Store(true)
					sched.Yield()
				}
				return nil
			})
		}
		go func() {
			for !yields.Load() {
				time.Sleep(100 * time.Microsecond)
			}
			_, err := unix.Write(out, []byte("x"))
			assert.NoError(t, err)
		}()
		require.NoError(t, onFibers(t, s, fs...))
	})
}

// A worker that sleeps in its ring is woken by tasks as well as by completions. Waiting for input is no deadlock.
func TestWorkerSleepsInItsRing(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		in, out := pipe(t)
		read := make(chan string, 1)
		require.NoError(t, s.Go(func() {
			b := make([]byte, 16)
			n := 0
			for n < len("hello") {
				m, err := receiveBy(here(engines), in, b[n:])
				if err != nil {
					read <- err.Error()
					return
				}
				n += m
			}
			read <- string(b[:n])
		}))
		for range 50 {
			ran := make(chan struct{})
			require.NoError(t, s.Go(func() { close(ran) }))
			<-ran
			time.Sleep(50 * time.Microsecond)
		}
		require.Empty(t, read)
		time.AfterFunc(100*time.Millisecond, func() { _, _ = unix.Write(out, []byte("hello")) })
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		require.NoError(t, <-closed, "the fiber that reads goes on: its wait is no deadlock")
		require.Equal(t, "hello", <-read)
	})
}

// Many fibers pass numbers on in rings of pipes.
func TestFibersPassOn(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		const fibers = 20
		rounds := byte(50)
		if testing.Short() {
			rounds = 5
		}
		var ins, outs [fibers]int
		for i := range fibers {
			ins[i], outs[i] = pipe(t)
		}
		var total atomic.Int64
		var ended sync.WaitGroup
		for i := range fibers {
			ended.Add(1)
			require.NoError(t, s.Go(func() {
				defer ended.Done()
				b := make([]byte, 1)
				for {
					if n, err := receiveBy(here(engines), ins[i], b); n != 1 || err != nil {
						panic(err)
					}
					total.Add(1)
					if i == 0 {
						b[0]++
					}
					if b[0] < rounds || i < fibers-1 {
						if n, err := sendBy(here(engines), outs[(i+1)%fibers], b); n != 1 || err != nil {
							panic(err)
						}
					}
					if b[0] >= rounds {
						return
					}
				}
			}))
		}
		_, err := unix.Write(outs[0], []byte{0})
		require.NoError(t, err)
		ended.Wait()
		require.Equal(t, int64(fibers)*int64(rounds), total.Load())
	})
}

// Goroutines use an engine by its mailbox.
func TestGoroutinesUseAnEngine(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		found := make(chan *uring.Engine, 1)
		require.NoError(t, s.Go(func() { found <- here(engines) }))
		e := <-found
		require.NotNil(t, e)
		var all sync.WaitGroup
		for range 8 {
			in, out := pipe(t)
			all.Add(1)
			go func() {
				defer all.Done()
				b := make([]byte, 1)
				for i := range byte(50) {
					n, err := sendBy(e, out, []byte{i})
					if n != 1 || err != nil {
						panic(err)
					}
					n, err = receiveBy(e, in, b)
					if n != 1 || err != nil || b[0] != i {
						panic(err)
					}
				}
			}()
		}
		all.Wait()
	})
}
