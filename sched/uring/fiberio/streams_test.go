package fiberio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/uringtest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// filled returns n bytes that differ from one place to the next.
func filled(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8)
	}
	return b
}

// writes has the peer send b, on another goroutine.
func writes(t *testing.T, peer net.Conn, b []byte) {
	go func() {
		_, err := peer.Write(b)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}()
}

// A connection begins to stream when much comes at a time, and ends it when little does: then pieces serve it again.
func TestSmallAndLargeInTurn(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		r, seed := random()
		run(func() {
			for range 10 {
				for range 3 {
					small := filled(1 + r.IntN(uring.BufferSize-1))
					writes(t, peer, small)
					got := make([]byte, uring.BufferSize)
					_, err := io.ReadFull(c, got[:len(small)])
					require.NoError(t, err)
					require.Equal(t, small, got[:len(small)], "seed %d", seed)
				}
				_, err := io.ReadFull(c, make([]byte, 0))
				require.NoError(t, err)
				large := filled(100_000 + r.IntN(200_000))
				writes(t, peer, large)
				got, streamed := make([]byte, 0, len(large)), false
				for p := make([]byte, 64<<10); len(got) < len(large); streamed = streamed || c.inbox.streams.Load() {
					n, err := c.Read(p[:min(len(p), len(large)-len(got))])
					require.NoError(t, err)
					got = append(got, p[:n]...)
				}
				require.True(t, bytes.Equal(large, got), "seed %d", seed)
				require.True(t, streamed)

				writes(t, peer, []byte("end"))
				n, err := c.Read(make([]byte, uring.BufferSize))
				require.NoError(t, err)
				require.Equal(t, 3, n)
				require.False(t, c.inbox.streams.Load())
			}
		})
		if e, err := c.d.home(); err == nil && e.Buffers() != nil {
			require.NotNil(t, c.inbox.buffers)
		}
		require.NoError(t, c.Close())
		allBuffersFree(t, engines)
	})
}

// A read that has returned, with or without bytes, never touches its memory again: what comes afterwards is the next
// one's.
func TestMemoryIsTheReadersAgain(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		const message = 5000 // a stream: it is received into the reader's memory
		untouched := bytes.Repeat([]byte{0xAA}, 4*message)
		r, seed := random()
		run(func() {
			memory := bytes.Clone(untouched)
			c.inbox.streams.Store(true)
			for i := range 60 {
				writes(t, peer, bytes.Repeat([]byte{byte(i)}, message))
				for got := 0; got < message; {
					require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(300))*time.Microsecond)))
					n, err := c.Read(memory)
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						require.NoError(t, err)
					}
					got += n
					require.Equal(t, n, bytes.Count(memory, []byte{byte(i)}), "seed %d", seed)
					copy(memory, untouched[:n])
				}
				require.NoError(t, c.SetReadDeadline(time.Now()))
				_, err := c.Read(memory)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				require.NoError(t, c.SetReadDeadline(time.Time{}))
				writes(t, peer, []byte{0xBB})
				_, err = c.Read(make([]byte, 1))
				require.NoError(t, err)
				require.Equal(t, untouched, memory, "seed %d", seed)
			}
		})
	})
}

// A fiber whose transfers never wait leaves its worker to other fibers, and the engine to their requests.
func TestStreamYields(t *testing.T) {
	for _, driver := range uring.Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			engines := uring.New(uring.Options{Driver: driver})
			cfg := sched.Config{Workers: 1}
			engines.Attach(&cfg)
			s, err := sched.New(cfg)
			if driver == uring.Uring && err != nil {
				uringtest.NoRing(t, err)
				return
			}
			require.NoError(t, err)
			stream, drain := dialled(t, engines)
			other, peer := dialled(t, engines)
			go func() { _, _ = io.Copy(io.Discard, drain) }()
			var all sync.WaitGroup
			all.Add(2)
			var read atomic.Bool
			require.NoError(t, s.Go(func() {
				defer all.Done()
				_, err := other.Read(make([]byte, 1))
				require.NoError(t, err)
				read.Store(true)
			}))
			require.NoError(t, s.Go(func() {
				defer all.Done()
				stream.inbox.streams.Store(true)
				writes(t, peer, []byte{1})
				for end := time.Now().Add(hang); !read.Load(); {
					_, err := stream.Write([]byte{1})
					require.NoError(t, err)
					if time.Now().After(end) {
						t.Error("the other fiber does not run")
						break
					}
				}
			}))
			all.Wait()
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
	}
}

// pipes is how many ends of pipes this process has.
func pipes(t *testing.T) (n int) {
	names, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil && strings.HasPrefix(to, "pipe:") {
			n++
		}
	}
	return n
}

// copied has c send back what comes while during runs, and ends the stream.
func copied(t *testing.T, c *Conn, peer net.Conn, run func(...func()), during func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		during()
		if err := peer.(*net.TCPConn).CloseWrite(); err != nil {
			t.Error(err)
		}
	}()
	run(func() {
		_, err := io.Copy(c, c)
		require.NoError(t, err)
	})
	<-over
}

// exchanged has the peer send n bytes and get them back.
func exchanged(t *testing.T, peer net.Conn, n int) {
	sent, got := filled(n), make([]byte, n)
	writes(t, peer, sent)
	_, err := io.ReadFull(peer, got)
	if err != nil || !bytes.Equal(sent, got) {
		t.Errorf("%d bytes came back: %v", n, err)
	}
}

// A copy between connections that stream holds a pipe only while bytes come.
func TestRestingStreamHoldsNoPipe(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		before := pipes(t)
		copied(t, c, peer, run, func() {
			for range 3 {
				exchanged(t, peer, 500_000)
				for end := time.Now().Add(hang); pipes(t) > before && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				if now := pipes(t); now > before {
					t.Errorf("%d ends of pipes more than before", now-before)
				}
			}
		})
		require.Equal(t, before, pipes(t))
	})
}

// Where there can be no pipe, the bytes are copied.
func TestCopyWithoutPipes(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		var limit unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
		defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }()
		copied(t, c, peer, run, func() {
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
				t.Error(err)
			}
			exchanged(t, peer, 500_000)
		})
	})
}

// endsEarly is a Writer that takes nothing and returns io.EOF.
type endsEarly struct{}

func (endsEarly) Write([]byte) (int, error) { return 0, io.EOF }

// WriteTo returns the error of its Writer, even if that is io.EOF: only the end of what the peer sends is no error.
func TestWriteToReturnsEOFOfTheWriter(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		for _, size := range []int{5, 100_000} {
			c, peer := dialled(t, engines)
			writes(t, peer, filled(size))
			run(func() {
				n, err := io.Copy(endsEarly{}, c)
				require.Equal(t, io.EOF, err)
				require.Zero(t, n)
			})
			require.NoError(t, c.Close())
		}
		allBuffersFree(t, engines)
	})
}

// Calls of length zero fail and succeed as in package net.
func TestZeroLengthCalls(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, _ := dialled(t, engines)
		run(func() {
			_, err := c.Write(nil)
			require.NoError(t, err)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(-time.Second)))
			_, err = c.Read(nil)
			require.NoError(t, err)
			require.NoError(t, c.CloseWrite())
			_, err = c.Write(nil)
			require.ErrorIs(t, err, unix.EPIPE)
			require.NoError(t, c.Close())
			_, err = c.Read(nil)
			require.ErrorIs(t, err, net.ErrClosed)
			_, err = c.Write(nil)
			require.ErrorIs(t, err, net.ErrClosed)
		})
	})
}
