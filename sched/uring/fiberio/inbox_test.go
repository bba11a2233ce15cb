package fiberio

import (
	"context"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"fiberlab/sched/uring"
	"fiberlab/sched/uring/uringtest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hang is how long a test waits for what should come at once.
const hang = time.Minute

// dialled returns both ends of a connection: ours, and the peer's, which package net has.
func dialled(t *testing.T, engines *uring.Engines) (*Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	c, err := Dial(context.Background(), engines, "tcp", l.Addr().String())
	require.NoError(t, err)
	peer, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		_ = peer.Close()
	})
	return c, peer
}

// allBuffersFree waits until the engines have all their buffers back.
func allBuffersFree(t *testing.T, engines *uring.Engines) {
	t.Helper()
	require.Eventually(t, func() bool { return engines.Stats().Held == 0 }, hang, time.Millisecond)
}

// random returns a source and its seed, for messages.
func random() (*rand.Rand, uint64) {
	seed := rand.Uint64()
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// Streams come in order, whatever the sizes of writes and reads. Some pauses of the reader fill its inbox, and some
// reads are large enough to go past it.
func TestInboxKeepsStreams(t *testing.T) {
	for _, buffers := range []int{-1, 4, 0} {
		options := uring.Options{Buffers: buffers}
		uringtest.EachCaller(t, options, func(t *testing.T, engines *uring.Engines, run func(...func())) {
			const streams = 6
			var fs []func()
			for range streams {
				c, peer := dialled(t, engines)
				r, seed := random()
				data := make([]byte, 300_000+r.IntN(100_000))
				for i := range data {
					data[i] = byte(r.Uint32())
				}
				go func() {
					for rest := data; len(rest) > 0; {
						n := min(len(rest), 1+rand.IntN(40_000))
						if _, err := peer.Write(rest[:n]); err != nil {
							return
						}
						rest = rest[n:]
					}
					_ = peer.(*net.TCPConn).CloseWrite()
				}()
				fs = append(fs, func() {
					sum, n := crc32.NewIEEE(), 0
					p := make([]byte, 32<<10)
					for {
						size := 1 + r.IntN(3000)
						if r.IntN(20) == 0 {
							size = len(p)
						}
						if r.IntN(50) == 0 {
							time.Sleep(time.Millisecond) // of the whole thread: others send meanwhile
						}
						m, err := c.Read(p[:size])
						n += m
						_, _ = sum.Write(p[:m])
						if err != nil {
							if err != io.EOF || n != len(data) || sum.Sum32() != crc32.ChecksumIEEE(data) {
								t.Errorf("%d of %d bytes have come, %v; seed %d", n, len(data), err, seed)
							}
							return
						}
					}
				})
			}
			run(fs...)
			allBuffersFree(t, engines)
		})
	}
}

// Unread bytes do not take all buffers, and where they have taken them a reader gets its bytes nevertheless.
func TestUnreadConnections(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{Buffers: 8}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		var silent, peers [5]net.Conn
		for i := range silent {
			silent[i], peers[i] = dialled(t, engines)
		}
		var fs []func()
		for i := range silent {
			fs = append(fs, func() {
				_, err := silent[i].Read(make([]byte, 1)) // and no more
				require.NoError(t, err)
			})
			_, err := peers[i].Write(make([]byte, 30_000))
			require.NoError(t, err)
		}
		run(fs...)
		active, peer := dialled(t, engines)
		go func() { _, _ = io.Copy(peer, peer) }()
		run(func() {
			p := make([]byte, 100)
			for i := range 50 {
				p[0] = byte(i)
				_, err := active.Write(p)
				require.NoError(t, err)
				_, err = io.ReadFull(active, p)
				require.NoError(t, err)
				require.Equal(t, byte(i), p[0])
			}
		})
		fs = nil
		for i := range silent {
			fs = append(fs, func() {
				_, err := io.ReadFull(silent[i], make([]byte, 29_999))
				require.NoError(t, err)
			})
		}
		run(fs...)
		allBuffersFree(t, engines)
	})
}

// What has come and was not read when the connection is closed goes back to the engine.
func TestCloseGivesBuffersBack(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		_, err := peer.Write(make([]byte, 100_000))
		require.NoError(t, err)
		run(func() {
			_, err := c.Read(make([]byte, 1))
			require.NoError(t, err)
		})
		require.NoError(t, c.Close())
		allBuffersFree(t, engines)
	})
}

// Close resets a connection with bytes that no Read has taken, as in package net, wherever the bytes lie.
func TestCloseWithUnreadBytesResets(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		for _, reads := range []int{1, 5} { // of the first five bytes; the second five arrive afterwards
			c, peer := dialled(t, engines)
			_, err := peer.Write([]byte("first"))
			require.NoError(t, err)
			run(func() {
				n, err := io.ReadFull(c, make([]byte, reads))
				require.NoError(t, err)
				require.Equal(t, reads, n)
			})
			if reads == 5 {
				_, err = peer.Write([]byte("other"))
				require.NoError(t, err)
				require.Eventually(t, func() bool { return unread(c) }, hang, time.Millisecond)
			}
			require.NoError(t, c.Close())
			_, err = peer.Read(make([]byte, 1))
			require.ErrorIs(t, err, unix.ECONNRESET)
		}
		allBuffersFree(t, engines)
	})
}

// unread reports whether bytes that no Read has taken lie where they are received to: in the inbox, or in the socket.
func unread(c *Conn) bool {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	if c.inbox.open {
		return c.inbox.arrived.count > 0
	}
	n, err := unix.IoctlGetInt(c.d.fd, unix.TIOCINQ)
	return err == nil && n > 0
}

// Close and deadlines end a reader whose request is under way; after the latter the bytes that come are there for the
// next one.
func TestInboxEnds(t *testing.T) {
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		c, peer := dialled(t, engines)
		run(func() {
			p := make([]byte, 8)
			for i := range 20 {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Duration(i%3)*time.Millisecond)))
				_, err := c.Read(p)
				require.True(t, err.(net.Error).Timeout(), "%v", err)
				_, err = peer.Write([]byte{byte(i)})
				require.NoError(t, err)
				require.NoError(t, c.SetReadDeadline(time.Time{}))
				n, err := c.Read(p)
				require.NoError(t, err)
				require.Equal(t, []byte{byte(i)}, p[:n])
			}
		})
		var closed sync.WaitGroup
		closed.Add(1)
		time.AfterFunc(5*time.Millisecond, func() {
			defer closed.Done()
			_ = c.Close()
		})
		run(func() {
			_, err := c.Read(make([]byte, 8))
			require.ErrorIs(t, err, net.ErrClosed)
		})
		closed.Wait()
	})
}

// What an engine has received can be read when it has ended.
func TestInboxOutlivesItsEngine(t *testing.T) {
	engines := uring.New(uring.Options{})
	c, peer := dialled(t, engines)
	_, err := peer.Write([]byte("hello"))
	require.NoError(t, err)
	p := make([]byte, 1)
	_, err = c.Read(p)
	require.NoError(t, err)
	require.Equal(t, "h", string(p))
	require.NoError(t, engines.Close())
	rest := make([]byte, 4)
	_, err = io.ReadFull(c, rest) // a goroutine reads by itself where there is no inbox
	require.NoError(t, err)
	require.Equal(t, "ello", string(rest))
	require.Zero(t, c.inbox.read.count)
	_, err = c.Read(rest)
	require.ErrorIs(t, err, uring.ErrClosed)
	require.NoError(t, c.Close())
}
