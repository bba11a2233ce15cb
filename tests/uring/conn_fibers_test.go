package uring_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// onFibers runs functions at the same time, each on a fiber of s, and waits for them. It returns their errors. The test
// fails if they do not end.
func onFibers(t *testing.T, s *sched.Scheduler, fs ...func() error) error {
	t.Helper()
	over := make([]chan error, len(fs))
	for i, f := range fs {
		over[i] = make(chan error, 1)
		require.NoError(t, s.Go(func() {
			err := errors.New("it has not returned") // but called Goexit, or panicked
			defer func() { over[i] <- err }()
			err = f()
		}))
	}
	errs := make([]error, len(fs))
	limit := time.After(hang)
	for i := range fs {
		select {
		case errs[i] = <-over[i]:
		case <-limit:
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			t.Fatalf(
				"function %d of %d has not ended after %v; the functions before it returned %v; the scheduler says: %v",
				i+1, len(fs), hang, errs[:i], s.CloseContext(ctx),
			)
		}
	}
	return errors.Join(errs...)
}

// eachNetwork is eachAttached with a listener of each network.
func eachNetwork(
	t *testing.T, test func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener),
) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
				l := listen(t, engines, network)
				test(t, s, engines, l)
				if err := l.Close(); err != nil {
					assert.ErrorIs(t, err, net.ErrClosed)
				}
			})
		})
	}
}

// pair returns both ends of a connection that fibers of s have made.
func pair(
	t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener,
) (client, server *fiberio.Conn) {
	t.Helper()
	require.NoError(t, onFibers(t, s, func() (err error) {
		client, err = fiberio.Dial(context.Background(), engines, l.Addr().Network(), l.Addr().String())
		return err
	}, func() error {
		c, err := l.Accept()
		if err == nil {
			server = c.(*fiberio.Conn)
		}
		return err
	}))
	setOption(t, client, unix.SOL_SOCKET, unix.SO_SNDBUF, 32<<10)
	setOption(t, server, unix.SOL_SOCKET, unix.SO_RCVBUF, 32<<10)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	return client, server
}

// tooMuch is more than the kernel has room for between the client and the server of a pair.
const tooMuch = 2 << 20

// expect returns an error that says so unless err wraps want.
func expect(want, err error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("got %v, want %v", err, want)
}

// A server on fibers sends back what clients on fibers send: all bytes arrive, in order, until each side has closed its
// own.
func TestFibersEcho(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		const clients = 8
		size := suite.Scaled(300_000, 40_000)
		seed := suite.Seed()
		var served sync.WaitGroup
		fs := []func() error{func() error {
			for {
				c, err := l.Accept()
				if err != nil {
					return expect(net.ErrClosed, err)
				}
				served.Add(1)
				if err := sched.Get().Go(func() {
					defer served.Done()
					_, _ = io.CopyBuffer(writerOnly{c}, readerOnly{c}, make([]byte, 10_000))
					_ = c.Close()
				}); err != nil {
					return err
				}
			}
		}}
		var ended sync.WaitGroup
		ended.Add(clients)
		for i := range uint64(clients) {
			fs = append(fs, func() error {
				defer ended.Done()
				c, err := fiberio.Dial(context.Background(), engines, l.Addr().Network(), l.Addr().String())
				if err != nil {
					return err
				}
				data := make([]byte, size)
				_, _ = rand.NewChaCha8(sha256.Sum256([]byte{byte(seed), byte(i)})).Read(data)
				wrote := make(chan error, 1)
				if err := sched.Get().Go(func() {
					_, err := c.Write(data)
					wrote <- errors.Join(err, c.CloseWrite())
				}); err != nil {
					return err
				}
				got, err := io.ReadAll(c)
				if err != nil || !bytes.Equal(got, data) {
					return fmt.Errorf("%d bytes of %d came back: %w, %s", len(got), len(data), err, suite.Repeat())
				}
				return errors.Join(<-wrote, c.Close(), expect(net.ErrClosed, c.Close()))
			})
		}
		go func() {
			ended.Wait()
			served.Wait()
			_ = l.Close()
		}()
		require.NoError(t, onFibers(t, s, fs...))
	})
}

type (
	readerOnly struct{ io.Reader }
	writerOnly struct{ io.Writer }
)

// Deadlines of fibers: past, to come, set while the fiber waits, put off, taken back.
func TestFibersDeadlines(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		b := make([]byte, 1)
		full := make([]byte, tooMuch)
		past := time.Now().Add(-time.Hour)
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		read := func() error {
			_, err := client.Read(b)
			return err
		}
		timedOut := func(err error) error {
			var as net.Error
			if !errors.As(err, &as) || !as.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
				return fmt.Errorf("got %v, want a timeout", err)
			}
			return nil
		}
		require.NoError(t, onFibers(t, s, func() error {
			_, err := server.Write([]byte("x"))
			return errors.Join(err, client.SetReadDeadline(past), timedOut(read()),
				client.SetReadDeadline(time.Time{}), read(),
				client.SetReadDeadline(in(2*time.Millisecond)), timedOut(read()), timedOut(read()))
		}), "past and to come")

		require.NoError(t, client.SetDeadline(time.Time{}))
		require.NoError(t, onFibers(t, s,
			func() error { return timedOut(read()) },
			func() error {
				_ = fibersync.Sleep(context.Background(), 2*time.Millisecond)
				return client.SetReadDeadline(past)
			}), "set while it waits")

		for first := 3 * time.Millisecond; ; first *= 4 {
			end := in(first)
			require.NoError(t, client.SetDeadline(end))
			inTime := false
			err := onFibers(t, s, read, func() error {
				if err := client.SetReadDeadline(in(time.Hour)); err != nil {
					return err
				}
				inTime = time.Now().Before(end)
				_ = fibersync.Sleep(context.Background(), time.Until(end)+time.Millisecond)
				_, err := server.Write([]byte("x"))
				return err
			})
			if inTime { // else the machine is too slow for this end
				require.NoError(t, err, "put off while it waits")
				break
			}
			require.NoError(t, client.SetDeadline(time.Time{}))
			if err != nil {
				require.NoError(t, onFibers(t, s, read))
			}
		}

		require.NoError(t, client.SetDeadline(time.Time{}))
		require.NoError(t, onFibers(t, s, func() error {
			n, d := 0, time.Millisecond
			for n == 0 { // a slow machine needs more time to begin
				if err := client.SetWriteDeadline(in(d)); err != nil {
					return err
				}
				var err error
				if n, err = client.Write(full); timedOut(err) != nil {
					return fmt.Errorf("wrote %d bytes: %w", n, timedOut(err))
				}
				d *= 4
			}
			if _, err := io.CopyN(io.Discard, server, int64(n)); err != nil { // just that many have been sent
				return err
			}
			return errors.Join(
				server.SetReadDeadline(in(time.Millisecond)),
				timedOut(func() error { _, err := server.Read(b); return err }()),
			)
		}), "of a write")

		require.NoError(t, onFibers(t, s, func() error {
			if err := l.SetDeadline(in(time.Millisecond)); err != nil {
				return err
			}
			_, err := l.Accept()
			return errors.Join(timedOut(err), l.SetDeadline(time.Time{}))
		}), "of a listener")
	})
}

// Closing ends fibers that read, write, accept, or wait for their turn, and the peer is told.
func TestFibersClose(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		closed := func(f func() error) func() error { return func() error { return expect(net.ErrClosed, f()) } }
		read := func() error {
			_, err := client.Read(make([]byte, 1))
			return err
		}
		write := func() error {
			_, err := client.Write(make([]byte, tooMuch))
			return err
		}
		accept := func() error {
			_, err := l.Accept()
			return err
		}
		require.NoError(
			t,
			onFibers(
				t, s, closed(read), closed(read), closed(write), closed(write), closed(accept), closed(accept),
				func() error {
					_ = fibersync.Sleep(context.Background(), 3*time.Millisecond)
					return errors.Join(client.Close(), l.Close(), closed(client.Close)(), closed(l.Close)())
				},
			),
		)
		require.NoError(t, onFibers(t, s, closed(read), closed(write), closed(accept), func() error {
			return errors.Join(
				expect(net.ErrClosed, client.SetDeadline(time.Time{})), expect(net.ErrClosed, client.CloseWrite()),
			)
		}))
		require.NoError(t, onFibers(t, s, func() error {
			_, err := io.Copy(io.Discard, server)
			return err
		}), "the peer reads to the end")
	})
}

// A context ends a fiber that dials, and nothing is left of the connection.
func TestFibersDial(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		// A socket whose backlog is full takes no more connections: a client that dials waits.
		full, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer syscall.Close(full)
		require.NoError(t, syscall.Bind(full, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		require.NoError(t, syscall.Listen(full, 0))
		bound, err := syscall.Getsockname(full)
		require.NoError(t, err)
		name := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
		first, err := net.Dial("tcp", name)
		require.NoError(t, err)
		defer first.Close()
		awaitConnection(t, full)
		none := fmt.Sprintf("@fiberlab-%d-none", os.Getpid())
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(3*time.Millisecond, func() { cancel(cause) })
		timeout, stop := context.WithTimeout(context.Background(), 3*time.Millisecond)
		defer stop()
		require.NoError(t, onFibers(t, s,
			func() error { _, err := fiberio.Dial(ctx, engines, "tcp", name); return expect(cause, err) },
			func() error {
				_, err := fiberio.Dial(timeout, engines, "tcp", name)
				var as net.Error
				if !errors.As(err, &as) || !as.Timeout() {
					return fmt.Errorf("got %v, want a timeout", err)
				}
				return expect(context.DeadlineExceeded, err)
			},
			func() error {
				_, err := fiberio.Dial(context.Background(), engines, "unix", none)
				var as *net.OpError
				if !errors.As(err, &as) || as.Op != "dial" || as.Net != "unix" || as.Addr.String() != none {
					return fmt.Errorf("got %#v", err)
				}
				return expect(syscall.ECONNREFUSED, err)
			},
			func() error {
				_, err := fiberio.Dial(context.Background(), engines, "tcp", "127.0.0.1")
				return missing(err)
			},
		))
	})
}

// awaitConnection waits until a socket that listens has a connection to accept: the kernel has it a moment later than
// who dials.
func awaitConnection(t *testing.T, fd int) {
	t.Helper()
	has := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(schedtest.Standstill); ; {
		require.True(t, time.Now().Before(end), "the connection has not come")
		n, err := unix.Poll(has, 100)
		if n > 0 {
			return
		}
		if err != nil {
			require.ErrorIs(t, err, unix.EINTR)
		}
	}
}

func missing(err error) error {
	var as *net.AddrError
	if !errors.As(err, &as) {
		return fmt.Errorf("got %v, want an address error", err)
	}
	return nil
}

// Reads, writes and closing race. Each fiber returns, and no error is unexpected.
func TestFibersRaceWithClose(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		for range suite.Scaled(20, 4) {
			client, server := pair(t, s, engines, l)
			fine := func(err error) error {
				for _, one := range []error{nil, io.EOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, os.ErrDeadlineExceeded} {
					if errors.Is(err, one) {
						return nil
					}
				}
				return err
			}
			var fs []func() error
			for _, c := range []*fiberio.Conn{client, server} {
				for range 2 {
					fs = append(fs, func() error {
						for {
							if _, err := c.Read(make([]byte, 1000)); err != nil {
								return fine(err)
							}
						}
					}, func() error {
						for {
							if _, err := c.Write(make([]byte, 1000)); err != nil {
								return fine(err)
							}
						}
					}, func() error {
						for range rand.IntN(10) {
							_ = c.SetDeadline(time.Now().Add(time.Hour))
							sched.Yield()
						}
						return fine(c.Close())
					})
				}
			}
			rand.Shuffle(len(fs), func(i, j int) { fs[i], fs[j] = fs[j], fs[i] })
			require.NoError(t, onFibers(t, s, fs...))
		}
	})
}

// Fibers that wait in Accept, Read and Write are in no deadlock.
func TestFibersWaitForPeers(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		l := listen(t, engines, "unix")
		client, server := pair(t, s, engines, l)
		done := make(chan error, 3)
		for _, f := range []func() error{
			func() error {
				c, err := l.Accept()
				if err == nil {
					err = c.Close()
				}
				return err
			},
			func() error { _, err := client.Write(make([]byte, tooMuch)); return err },
			func() error { _, err := client.Read(make([]byte, 1)); return err },
		} {
			require.NoError(t, s.Go(func() { done <- f() }))
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			t.Errorf("the scheduler is closed, or gives up: %v", err)
		case <-time.After(60 * time.Millisecond): // more than cfg.GiveUpAfter
			require.Empty(t, done)
			_, err := server.Write([]byte("x"))
			require.NoError(t, err)
			_, err = io.CopyN(io.Discard, server, tooMuch)
			require.NoError(t, err)
			c, err := fiberio.Dial(context.Background(), engines, "unix", l.Addr().String())
			require.NoError(t, err)
			require.NoError(t, <-closed)
			for range cap(done) {
				require.NoError(t, <-done)
			}
			require.NoError(t, c.Close())
		}
		require.NoError(t, l.Close())
	})
}

// A fiber that waits for a connection is in no deadlock, though its listener's request may be under way without it.
func TestFiberWaitsForAConnection(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		l := listen(t, engines, "unix")
		accepted := make(chan error, 1)
		require.NoError(t, s.Go(func() {
			c, err := l.Accept()
			if err == nil {
				err = c.Close()
			}
			accepted <- err
		}))
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			t.Errorf("the scheduler is closed, or gives up: %v", err)
		case <-time.After(60 * time.Millisecond): // more than cfg.GiveUpAfter
			c, err := net.Dial("unix", l.Addr().String())
			require.NoError(t, err)
			require.NoError(t, <-closed)
			require.NoError(t, <-accepted)
			require.NoError(t, c.Close())
		}
		require.NoError(t, l.Close())
	})
}
