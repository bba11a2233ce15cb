package uring_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/suite"
)

// talk is random bytes, and the sizes of the pieces in which they are sent: small messages, large ones, and streams in
// turn.
type talk struct {
	data   []byte
	pieces []int
	pauses map[int]bool // before that piece the sender waits, and so the reader
}

func newTalk(r *rand.Rand, size int) talk {
	t := talk{pauses: map[int]bool{}}
	for n := 0; n < size; {
		most := 1 << r.IntN(19)
		for range 1 + r.IntN(8) {
			piece := min(1+r.IntN(most), size-n)
			if piece == 0 {
				break
			}
			t.pauses[len(t.pieces)] = r.IntN(6) == 0
			t.pieces = append(t.pieces, piece)
			n += piece
		}
	}
	t.data = make([]byte, size)
	for i := range t.data {
		t.data[i] = byte(r.Uint32())
	}
	return t
}

// send sends the talk and ends its side.
func (t talk) send(c *fiberio.Conn) error {
	rest := t.data
	for i, n := range t.pieces {
		if t.pauses[i] {
			sched.Sleep(200 * time.Microsecond)
		}
		if _, err := c.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return c.CloseWrite()
}

// check compares what has come.
func (t talk) check(got []byte) error {
	if !bytes.Equal(t.data, got) {
		same := 0
		for same < min(len(got), len(t.data)) && got[same] == t.data[same] {
			same++
		}
		return fmt.Errorf("%d bytes have come of %d, and %d of them are right", len(got), len(t.data), same)
	}
	return nil
}

// receive reads to the end, into memory of random sizes.
func (t talk) receive(r *rand.Rand, c io.Reader) error {
	var got []byte
	for p := make([]byte, 1<<18); ; {
		n, err := c.Read(p[:1+r.IntN(1<<r.IntN(19))])
		got = append(got, p[:n]...)
		if err == io.EOF {
			return t.check(got)
		}
		if err != nil {
			return err
		}
	}
}

// Every byte of a stream arrives, in order, however it is received, and however small and large pieces follow on each
// other.
func TestStreamsArrive(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		r := suite.NewRand(t)
		for _, way := range []string{"read", "write-to", "relay", "copy", "echo"} {
			client, server := pair(t, s, engines, l)
			out, sink := pair(t, s, engines, l)
			talk := newTalk(r, suite.Scaled(2<<20, 1<<19))
			seed := r.Uint64()
			reads := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
			relayed := func(copies func() (int64, error)) []func() error {
				return []func() error{func() error {
					n, err := copies()
					if err == nil && n != int64(len(talk.data)) {
						err = fmt.Errorf("it says that it has copied %d bytes", n)
					}
					return errors.Join(err, out.CloseWrite())
				}, func() error { return talk.receive(reads(), sink) }}
			}
			fs := []func() error{func() error { return talk.send(client) }}
			switch way {
			case "read":
				fs = append(fs, func() error { return talk.receive(reads(), server) })
			case "write-to":
				fs = append(fs, func() error {
					var got bytes.Buffer
					if _, err := server.WriteTo(writerOnly{&got}); err != nil {
						return err
					}
					return talk.check(got.Bytes())
				})
			case "relay":
				fs = append(fs, relayed(func() (int64, error) { return io.Copy(out, server) })...)
			case "copy":
				fs = append(fs, relayed(func() (int64, error) { return io.Copy(out, readerOnly{server}) })...)
			case "echo":
				fs = append(fs, func() error {
					_, err := io.Copy(server, server)
					return errors.Join(err, server.CloseWrite())
				}, func() error { return talk.receive(reads(), client) })
			}
			require.NoError(t, onFibers(t, s, fs...), way)
		}
	})
}

// Goroutines stream, too, and they have TLS over the connections of engines.
func TestStreamsOfGoroutines(t *testing.T) {
	eachAttached(t, func(t *testing.T, _ *sched.Scheduler, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		defer func() { require.NoError(t, l.Close()) }()
		r := suite.NewRand(t)
		certified := httptest.NewUnstartedServer(nil)
		certified.StartTLS()
		cfg := certified.TLS
		certified.Close()
		for _, secret := range []bool{false, true} {
			client, server, err := connect(engines, l)
			require.NoError(t, err)
			var far, near net.Conn = client, server
			if secret {
				far, near = tls.Client(client, &tls.Config{InsecureSkipVerify: true}), tls.Server(server, cfg)
			}
			talk := newTalk(r, suite.Scaled(2<<20, 1<<19))
			over := make(chan error, 2)
			go func() {
				_, err := io.Copy(near, near)
				over <- errors.Join(err, near.(interface{ CloseWrite() error }).CloseWrite())
			}()
			go func() {
				rest := talk.data
				for _, n := range talk.pieces {
					if _, err := far.Write(rest[:n]); err != nil {
						over <- err
						return
					}
					rest = rest[n:]
				}
				over <- far.(interface{ CloseWrite() error }).CloseWrite()
			}()
			require.NoError(t, talk.receive(r, far), "secret: %v", secret)
			require.NoError(t, errors.Join(<-over, <-over))
			require.NoError(t, client.Close())
			require.NoError(t, server.Close())
		}
	})
}

// Deadlines end reads and copies in the middle of a stream, and no byte is lost by that: the next call goes on where
// the last one ended.
func TestStreamDeadlines(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		r := suite.NewRand(t)
		for _, way := range []string{"read", "write-to", "relay"} {
			client, server := pair(t, s, engines, l)
			out, sink := pair(t, s, engines, l)
			talk := newTalk(r, suite.Scaled(1<<20, 300<<10))
			var got bytes.Buffer
			p := make([]byte, 100_000)
			once := map[string]func() error{
				"read": func() error {
					n, err := server.Read(p)
					got.Write(p[:n])
					return err
				},
				"write-to": func() error {
					_, err := server.WriteTo(writerOnly{&got})
					return errors.Join(err, ended(err))
				},
				"relay": func() error {
					_, err := io.Copy(out, server)
					return errors.Join(err, ended(err))
				},
			}[way]
			require.NoError(t, onFibers(t, s, func() error { return talk.send(client) }, func() error {
				defer func() { _ = out.CloseWrite() }()
				for late := time.Duration(0); ; late = (late + 50*time.Microsecond) % time.Millisecond {
					if err := server.SetReadDeadline(time.Now().Add(late)); err != nil {
						return err
					}
					err := once()
					if errors.Is(err, io.EOF) {
						return nil
					}
					if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
						return err
					}
				}
			}, func() error {
				if way != "relay" {
					return nil
				}
				_, err := sink.WriteTo(writerOnly{&got})
				return err
			}))
			require.NoError(t, talk.check(got.Bytes()), way)
		}
	})
}

// ended is io.EOF for a copy that has ended by itself.
func ended(err error) error {
	if err == nil {
		return io.EOF
	}
	return nil
}

// Close ends whatever is done to a stream, on either side of it, while bytes move and while none do.
func TestStreamsEndByClose(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		r := suite.NewRand(t)
		for _, way := range []string{"read", "write-to", "relay", "relay-to-closed", "write"} {
			client, server := pair(t, s, engines, l)
			out, sink := pair(t, s, engines, l)
			stalls := r.IntN(2) == 0 && way != "relay-to-closed" // the sender stops, but does not end
			moves := make(chan struct{})
			counts := &notifies{after: 200_000, moves: moves}
			require.NoError(t, onFibers(t, s, func() error {
				p := make([]byte, 64<<10)
				for sent := 0; way != "write" && (!stalls || sent < 400_000); sent += len(p) {
					if _, err := client.Write(p); err != nil {
						return nil // it has been closed
					}
				}
				return nil
			}, func() (err error) {
				switch way {
				case "read":
					for p := make([]byte, 64<<10); err == nil; {
						var n int
						n, err = server.Read(p)
						_, _ = counts.Write(p[:n])
					}
				case "write-to":
					_, err = server.WriteTo(counts)
				case "relay", "relay-to-closed":
					_, err = io.Copy(out, server)
				case "write": // what is sent is not read, in the end
					for p := make([]byte, 64<<10); err == nil; {
						_, err = server.Write(p)
					}
				}
				if way == "relay-to-closed" {
					_ = server.Close()
					_ = client.Close()
				}
				return expect(net.ErrClosed, err)
			}, func() error {
				from := sink
				if way == "write" {
					from = client
				}
				if way == "write" || strings.HasPrefix(way, "relay") {
					for p := make([]byte, 64<<10); ; {
						n, err := from.Read(p)
						_, _ = counts.Write(p[:n])
						if err != nil || way == "write" && counts.done {
							return nil
						}
					}
				}
				return nil
			}, func() error {
				for {
					select {
					case <-moves:
						if way == "relay-to-closed" {
							return out.Close()
						}
						return errors.Join(server.Close(), client.Close(), out.Close())
					default:
						sched.Sleep(100 * time.Microsecond)
					}
				}
			}), "%s, stalls: %v", way, stalls)
		}
	})
}

// notifies is a writer that closes a channel when enough has been written.
type notifies struct {
	n, after int
	moves    chan struct{}
	done     bool
}

func (w *notifies) Write(p []byte) (int, error) {
	if w.n += len(p); w.n >= w.after && !w.done {
		w.done = true
		close(w.moves)
	}
	return len(p), nil
}

// A connection that is reset in the middle of a stream says so.
func TestStreamIsReset(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		for _, copies := range []bool{false, true} {
			over := make(chan error, 1)
			go func() {
				peer, err := l.Accept()
				if err != nil {
					over <- err
					return
				}
				for p := make([]byte, 64<<10); err == nil; {
					_, err = peer.Write(p)
					if _, err := io.ReadFull(peer, p[:1]); err == nil { // it streams
						break
					}
				}
				over <- errors.Join(peer.(*net.TCPConn).SetLinger(0), peer.Close())
			}()
			require.NoError(t, onFibers(t, s, func() (err error) {
				c, err := fiberio.Dial(context.Background(), engines, "tcp", l.Addr().String())
				if err != nil {
					return err
				}
				defer func() { _ = c.Close() }()
				if copies {
					_, err = io.Copy(c, c)
				} else {
					p := make([]byte, 64<<10)
					for n := 0; err == nil; {
						n, err = c.Read(p)
						if err == nil {
							_, err = c.Write(p[:n])
						}
					}
				}
				if op := (*net.OpError)(nil); !errors.As(err, &op) {
					return fmt.Errorf("got %v", err)
				}
				return nil
			}), "copies: %v", copies)
			require.NoError(t, <-over)
		}
	})
}

// A stream that never has to wait leaves others of the same worker their turns.
func TestStreamsLeaveTurns(t *testing.T) {
	eachAttached(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		var floods [3]net.Conn
		var streams [3]*fiberio.Conn
		for i := range floods {
			var err error
			over := make(chan error, 1)
			go func() {
				var err error
				floods[i], err = net.Dial("tcp", l.Addr().String())
				over <- err
			}()
			c, accepted := l.Accept()
			require.NoError(t, errors.Join(err, accepted, <-over))
			streams[i] = c.(*fiberio.Conn)
			go func() {
				for p := make([]byte, 1<<20); err == nil; {
					_, err = floods[i].Write(p)
				}
			}()
		}
		client, server := pair(t, s, engines, l)
		var over atomic.Bool
		fs := []func() error{func() error {
			_, err := io.Copy(server, server)
			return err
		}, func() (err error) {
			defer over.Store(true)
			p := make([]byte, 10)
			for range suite.Scaled(15, 3) {
				if _, err = client.Write(p); err == nil {
					_, err = io.ReadFull(client, p)
				}
				if err != nil {
					break
				}
			}
			return errors.Join(err, client.CloseWrite())
		}}
		for i := range streams {
			fs = append(fs, func() (err error) {
				defer func() { _ = streams[i].Close() }()
				for p := make([]byte, 256<<10); err == nil && !over.Load(); {
					_, err = streams[i].Read(p[:1+i<<14])
				}
				return err
			})
		}
		require.NoError(t, onFibers(t, s, fs...))
		for _, c := range floods {
			require.NoError(t, c.Close())
		}
		require.NoError(t, l.Close())
	})
}
