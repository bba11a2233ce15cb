package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/tests/internal/suite"
)

// Streams of many sizes come back as they were sent, in pieces of many sizes. The client closes its side first.
func TestStreams(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.Echo(), o)
		random := suite.NewRand(t)
		var all errgroup.Group
		total := int64(0)
		for i := range 50 {
			n := random.IntN(1 << random.IntN(18))
			if i == 0 {
				n = suite.Scaled(8<<20, 1<<20)
			}
			total += int64(n)
			seed, most := random.Uint64(), 1+random.IntN(1<<random.IntN(17))
			all.Go(func() error { return converse(s.Address, seed, n, max(most, n/1000)) })
		}
		require.NoError(t, all.Wait())
		f := s.end()
		require.EqualValues(t, 50, f.Connections)
		require.Equal(t, []int64{total, total}, []int64{f.BytesIn, f.BytesOut})
		require.Positive(t, f.Requests)
	})
}

// Very many connections are open at the same time, and each gets its own bytes.
func TestManyConnections(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	most := (int(limit.Cur) - 200) / 2 // each connection takes two descriptors of this process
	require.GreaterOrEqual(t, most, 50, "too few descriptors: raise ulimit -n")
	for _, n := range []int{1, 50, 1000, 5000} {
		over := someSetups
		if n == 5000 {
			if suite.Scaled(1, 0) == 0 {
				continue
			}
			over = oneSetup
		}
		t.Run(fmt.Sprint("conns=", n), func(t *testing.T) {
			if n > most {
				t.Logf("%d connections, for which there are descriptors", most)
				n = most
			}
			over(t, func(t *testing.T, o serve.Setup) {
				s := start(t, serve.Echo(), o)
				connected := make(chan struct{})
				var waiting atomic.Int64
				var all errgroup.Group
				seed := suite.NewRand(t).Uint64()
				for i := range n {
					all.Go(func() error {
						c, err := connect(s.Address)
						if err == nil {
							defer func() { _ = c.Close() }()
							err = exchange(c, fmt.Append(nil, "hello, I am number ", i))
						}
						if waiting.Add(1) == int64(n) {
							close(connected)
						}
						if err != nil {
							return err
						}
						<-connected // all connections have been served once, and are open
						var both errgroup.Group
						both.Go(func() error { return sends(c, seed+uint64(i), 5000, 3000) })
						both.Go(func() error { return returns(c, seed+uint64(i), 5000) })
						return both.Wait()
					})
				}
				require.NoError(t, all.Wait(), suite.Repeat())
				f := s.end()
				require.EqualValues(t, n, f.Connections)
				require.Equal(t, f.BytesIn, f.BytesOut)
				require.GreaterOrEqual(t, f.BytesIn, int64(n*5000))
			})
		})
	}
}

// Clients that do as clients should not: the others are served, and the server holds nothing of them at the end.
func TestOddClients(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		s := start(t, serve.Echo(), o)
		silent := dial(t, s.Address)

		slow := dial(t, s.Address)
		for _, b := range []byte("a byte a time") {
			require.NoError(t, exchange(slow, []byte{b}))
		}

		// It resets its connection with bytes on both ways.
		for range 20 {
			c := dial(t, s.Address)
			require.NoError(t, exchange(c, []byte("hello")))
			_, err := c.Write(make([]byte, 100_000))
			require.NoError(t, err)
			require.NoError(t, c.SetLinger(0))
			require.NoError(t, c.Close())
		}

		// It reads nothing until the server cannot send any more, and so does not read either.
		greedy := dial(t, s.Address)
		seed := suite.NewRand(t).Uint64()
		sent := fill(t, greedy, stream(seed), 200*time.Millisecond)
		require.NoError(t, exchange(slow, []byte("still there")))
		require.NoError(t, greedy.CloseWrite())
		require.NoError(t, returns(greedy, seed, sent))

		// It has closed its side before it has sent anything.
		closed := dial(t, s.Address)
		require.NoError(t, closed.CloseWrite())
		require.NoError(t, returns(closed, 0, 0))

		require.NoError(t, exchange(silent, []byte("here I am")))
		require.NoError(t, silent.Close())
		require.NoError(t, slow.Close())
		require.EqualValues(t, 24, s.end().Connections)
	})
}

// A server that is told to stop closes its side of connections that rest, and waits for the client to close the other
// one. It accepts nothing more.
func TestStopsAtRest(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.Grace = timeout
		s := start(t, serve.Echo(), o)
		c := dial(t, s.Address)
		require.NoError(t, exchange(c, []byte("hello")))
		s.stop()
		require.Equal(t, 1, <-s.stopping)
		require.NoError(t, returns(c, 0, 0), "the end, and no reset")
		_, err := connect(s.Address)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = c.Write([]byte("too late"))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		f := s.end()
		require.EqualValues(t, 5, f.BytesIn)
		require.Zero(t, f.Cut)
	})
}

// A client that never closes is not waited for longer than the grace allows. All that it had sent was answered, so it
// is not counted as cut, if the grace was long enough for the server to close its side.
func TestClientThatStays(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		for o.Grace = 50 * time.Millisecond; ; o.Grace *= 4 {
			s := start(t, serve.Echo(), o)
			c := dial(t, s.Address)
			require.NoError(t, exchange(c, []byte("hello")))
			told := time.Now()
			s.stop()
			require.NoError(t, returns(c, 0, 0), "the end of a connection at rest")
			inTime := time.Since(told) < o.Grace
			f, err := s.wait()
			if inTime || o.Grace >= timeout/4 {
				require.NoError(t, err)
				require.Zero(t, f.Cut)
				return
			}
		}
	})
}

// A client that does not read what it is sent is cut off in the end, and the server says so. If the client has not sent
// enough, for the server was slow to read it, there may be no answer that cannot be sent: then the client tries longer.
func TestCutsOff(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		o.Grace = 20 * time.Millisecond
		for still := 200 * time.Millisecond; ; still *= 4 {
			s := start(t, serve.Echo(), o)
			fill(t, dial(t, s.Address), stream(0), still)
			f, err := s.wait()
			require.NotNil(t, f, "%v", err)
			if f.BytesOut < f.BytesIn { // a part of what was read could not be sent back
				var cut *serve.CutError
				require.ErrorAs(t, err, &cut)
				require.Equal(t, serve.CutError{Connections: 1, Grace: o.Grace}, *cut)
				require.Equal(t, 1, f.Cut)
				return
			}
			require.Less(t, still, timeout/4, "the server sends back all that it reads, to a client that does not read")
		}
	})
}

// A server that stops under load answers what it has read, to the last byte, and then closes its side.
func TestStopsUnderLoad(t *testing.T) {
	eachSetup(t, func(t *testing.T, o serve.Setup) {
		o.Grace = timeout
		s := start(t, serve.Echo(), o)
		var answered, served atomic.Int64
		enough := make(chan struct{})
		var accepted sync.WaitGroup
		var all errgroup.Group
		const clients, bytesEach = 50, 100
		for i := range clients {
			accepted.Add(1)
			all.Go(func() error {
				first := sync.OnceFunc(accepted.Done)
				defer first()
				c, err := connect(s.Address)
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }()
				b, got := bytes.Repeat([]byte{byte(i)}, bytesEach), make([]byte, bytesEach)
				for {
					if _, err := c.Write(b); err != nil {
						return err
					}
					switch n, err := io.ReadFull(c, got); {
					case errors.Is(err, io.EOF) && n == 0:
						return nil
					case err != nil:
						return fmt.Errorf("after %d bytes of an answer: %w", n, err)
					case !bytes.Equal(b, got):
						return errors.New("a wrong answer")
					}
					if answered.Add(1) == 20*clients {
						close(enough)
					}
					served.Add(1)
					first()
				}
			})
		}
		accepted.Wait() // a connection that has not been accepted would be reset
		<-enough
		s.stop()
		require.Equal(t, clients, <-s.stopping)
		require.NoError(t, all.Wait())
		f := s.end()
		require.Equal(t, served.Load()*bytesEach, f.BytesOut)
		require.Equal(t, served.Load(), f.Requests)
	})
}
