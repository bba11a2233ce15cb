package uring

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

// room is how many requests can be staged before the next turn.
func (r *ring) room() int { return len(r.staged) - int(r.c.staged_count) }

// await makes turns until n completions have come, and returns them.
func await(t *testing.T, r proxy, n int) (all []Completion) {
	t.Helper()
	for end := clock.After(hang); len(all) < n; {
		require.Less(t, clock.Now(), end, "%d of %d completions have come", len(all), n)
		some, err := r.turn(time.Second)
		require.NoError(t, err)
		all = append(all, some...)
	}
	require.Len(t, all, n)
	return all
}

// must stages a request for which there must be room.
func must(t *testing.T, r proxy, e Entry) {
	t.Helper()
	require.True(t, r.stage(e))
}

// byID orders completions of single requests.
func byID(t *testing.T, all []Completion) map[uint64]Completion {
	t.Helper()
	m := make(map[uint64]Completion)
	for _, c := range all {
		require.NotContains(t, m, c.id, "one request has completed twice")
		m[c.id] = c
	}
	return m
}

func TestTurnServesABatch(t *testing.T) {
	eachProxy(t, 16, func(t *testing.T, r staging) {
		require.False(t, r.ready(), "nothing is staged")
		_, err := r.turn(0) // has the event watched
		require.NoError(t, err)
		before := r.counts()
		for id := range uint64(16) {
			must(t, r, Entry{id: id, Op: OpNop})
		}
		require.Zero(t, r.room())
		require.False(t, r.stage(Entry{Op: OpNop}), "there is no room")
		require.True(t, r.ready())
		done, err := r.turn(0)
		require.NoError(t, err)
		require.Len(t, byID(t, done), 16)
		if isRing(r) {
			require.Equal(t, before.Enters+1, r.counts().Enters, "one system call for all of them")
		}
		require.Equal(t, 16, r.room())
		require.False(t, r.ready())
	})
}

// What is completed while the ring is full of completions that have not been collected is not lost.
func TestMoreCompletionsThanRoom(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, r staging) {
		const all = 8 * 12 // the kernel's ring has room for 32
		var in [all]int
		var ends [2]int
		require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		for id := range all {
			must(t, r, Entry{id: uint64(id), Op: OpPoll, FD: int32(ends[0]), Flags: unix.POLLIN})
			if r.room() == 0 {
				done, err := r.turn(0)
				require.NoError(t, err)
				require.Empty(t, done)
			}
		}
		_, err := unix.Write(ends[1], []byte{1})
		require.NoError(t, err)
		for _, c := range await(t, r, all) {
			in[c.id]++
		}
		for id, n := range in {
			require.Equal(t, 1, n, "completions of request %d", id)
		}
	})
}

// pinned keeps b where it is until the test ends, and returns its address.
func pinned(t *testing.T, b []byte) uintptr {
	var pin runtime.Pinner
	pin.Pin(&b[0])
	t.Cleanup(pin.Unpin)
	return uintptr(unsafe.Pointer(&b[0]))
}

func TestFile(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		name := filepath.Join(t.TempDir(), "file")
		path := append([]byte(name), 0)
		must(t, r, Entry{
			id: 1, Op: OpOpen, FD: unix.AT_FDCWD, Addr: pinned(t, path),
			Flags: unix.O_RDWR | unix.O_CREAT | unix.O_CLOEXEC, Offset: 0o600,
		})
		opened := await(t, r, 1)[0]
		require.NoError(t, opened.Err())
		fd := opened.Result

		text := bytes.Repeat([]byte("ring "), 1000)
		must(t, r, Entry{id: 2, Op: OpWrite, FD: fd, Addr: pinned(t, text), Length: uint32(len(text))})
		require.EqualValues(t, len(text), await(t, r, 1)[0].Result)

		back := make([]byte, 2*len(text))
		must(t, r, Entry{id: 4, Op: OpRead, FD: fd, Addr: pinned(t, back), Length: uint32(len(back)), Offset: 5})
		must(t, r, Entry{
			id: 5, Op: OpRead, FD: fd, Addr: pinned(t, back), Length: uint32(len(back)), Offset: uint64(len(text)),
		})
		done := byID(t, await(t, r, 2))
		require.EqualValues(t, len(text)-5, done[4].Result, "a short read")
		require.Zero(t, done[5].Result, "at its end")
		require.Equal(t, text[5:], back[:len(text)-5])

		must(t, r, Entry{id: 6, Op: OpClose, FD: fd})
		require.NoError(t, await(t, r, 1)[0].Err())
		must(t, r, Entry{id: 7, Op: OpRead, FD: fd, Addr: pinned(t, back), Length: 1})
		require.ErrorIs(t, await(t, r, 1)[0].Err(), syscall.EBADF)
		kept, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, text, kept)
	})
}

// A wait ends by its limit, and the requests that have been submitted with it stay.
func TestTurnEndsByItsLimit(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, r staging) {
		one, _ := pair(t)
		must(t, r, Entry{id: 1, Op: OpPoll, FD: one, Flags: unix.POLLIN})
		for end := clock.After(2 * time.Millisecond); clock.Now() < end; { // signals may end it early
			done, err := r.turn(2 * time.Millisecond)
			require.NoError(t, err)
			require.Empty(t, done)
		}
		for end := clock.After(2 * time.Millisecond); clock.Now() < end; {
			done, err := r.idle(2 * time.Millisecond)
			require.NoError(t, err)
			require.Empty(t, done)
		}
		submitted := uint64(1)
		if isRing(r) {
			submitted++ // the watch of its event
		}
		require.Equal(t, submitted, r.counts().Submitted)
		must(t, r, Entry{id: 2, Op: OpCancel, Offset: 1})
		done := byID(t, await(t, r, 2))
		require.NoError(t, done[2].Err())
		require.ErrorIs(t, done[1].Err(), syscall.ECANCELED)
	})
}

func TestCancel(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, r staging) {
		one, other := pair(t)
		b := make([]byte, 8)
		for id := uint64(1); id <= 3; id++ {
			must(t, r, Entry{id: id, Op: OpReceive, FD: one, Addr: pinned(t, b), Length: 8})
		}
		must(t, r, Entry{id: 4, Op: OpReceive, FD: other, Addr: pinned(t, b), Length: 8})
		done, err := r.turn(0)
		require.NoError(t, err)
		require.Empty(t, done)

		must(t, r, Entry{id: 10, Op: OpCancel, Offset: 2})
		must(t, r, Entry{id: 11, Op: OpCancel, Offset: 99})
		by := byID(t, await(t, r, 3))
		require.ErrorIs(t, by[2].Err(), syscall.ECANCELED)
		require.NoError(t, by[10].Err())
		require.ErrorIs(t, by[11].Err(), syscall.ENOENT)

		must(t, r, Entry{id: 12, Op: OpCancel, Offset: 1})
		must(t, r, Entry{id: 14, Op: OpCancel, Offset: 3})
		by = byID(t, await(t, r, 4))
		require.ErrorIs(t, by[1].Err(), syscall.ECANCELED)
		require.ErrorIs(t, by[3].Err(), syscall.ECANCELED)

		must(t, r, Entry{id: 13, Op: OpSend, FD: one, Addr: pinned(t, []byte("x")), Length: 1})
		by = byID(t, await(t, r, 2))
		require.EqualValues(t, 1, by[4].Result, "the other end's request is untouched")
		require.EqualValues(t, 1, by[13].Result)
	})
}

// pair returns two connected sockets.
func pair(t *testing.T) (one, other int32) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = unix.Close(ends[0])
		_ = unix.Close(ends[1])
	})
	return int32(ends[0]), int32(ends[1])
}

// To close a descriptor ends nothing: the request keeps the socket open, so its peer is not told either.
func TestCloseEndsNothing(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		one, other := pair(t)
		b := make([]byte, 8)
		must(t, r, Entry{id: 1, Op: OpReceive, FD: one, Addr: pinned(t, b), Length: 8})
		_, err := r.turn(0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(int(one)))
		done, err := r.turn(time.Millisecond)
		require.NoError(t, err)
		require.Empty(t, done, "the request is under way")
		_, err = unix.Write(int(other), []byte("late"))
		require.NoError(t, err)
		require.EqualValues(t, 4, await(t, r, 1)[0].Result)
	})
}

func TestMultishotAccept(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		file, err := l.(*net.TCPListener).File()
		require.NoError(t, err)
		defer file.Close()
		must(t, r, Entry{id: 1, Op: OpAccept, How: Multishot, FD: int32(file.Fd()), Flags: unix.SOCK_CLOEXEC})
		for range 5 {
			c, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			done := await(t, r, 1)[0]
			require.NoError(t, done.Err())
			require.True(t, done.More())
			require.NoError(t, unix.Close(int(done.Result)))
		}
		must(t, r, Entry{id: 2, Op: OpCancel, Offset: 1})
		last := byID(t, await(t, r, 2))[1]
		require.ErrorIs(t, last.Err(), syscall.ECANCELED)
		require.False(t, last.More())
	})
}

// One request receives all that comes, as long as there are buffers. Without, it ends, and can be made again when some
// have been given back.
func TestMultishotReceive(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		b, err := r.provide(4, 16)
		require.NoError(t, err)
		one, other := pair(t)
		receive := Entry{id: 1, Op: OpReceive, How: Multishot | Provided, FD: one}
		must(t, r, receive)
		for n := range 20 {
			text := []byte{'a' + byte(n), 'x', 'y'}
			_, err := unix.Write(int(other), text)
			require.NoError(t, err)
			done := await(t, r, 1)[0]
			require.NoError(t, done.Err())
			require.True(t, done.More())
			number, ok := done.Buffer()
			require.True(t, ok)
			b.Take(number, int(done.Result))
			require.Equal(t, text, b.Bytes(number))
			b.Give(number)
		}
		_, err = r.turn(0) // the last one is handed back
		require.NoError(t, err)
		const piece = "0123456789abcdef"
		_, err = unix.Write(int(other), bytes.Repeat([]byte(piece), 5))
		require.NoError(t, err)
		full := await(t, r, 5)
		var taken []int32
		for i, c := range full[:4] {
			number, ok := c.Buffer()
			require.True(t, ok, i)
			b.Take(number, int(c.Result))
			require.Equal(t, piece, string(b.Bytes(number)))
			taken = append(taken, number)
		}
		require.ErrorIs(t, full[4].Err(), syscall.ENOBUFS)
		require.False(t, full[4].More())
		require.Zero(t, b.free.Load())
		for i, number := range taken {
			if i%2 == 0 {
				b.Give(number)
			} else {
				b.GiveElsewhere(number)
			}
		}
		b.collect()
		require.EqualValues(t, 4, b.free.Load())
		must(t, r, receive)
		last := await(t, r, 1)[0]
		number, _ := last.Buffer()
		b.Take(number, int(last.Result))
		require.Equal(t, piece, string(b.Bytes(number)))
		b.GiveElsewhere(number)
		require.True(t, last.More())
		require.NoError(t, unix.Shutdown(int(other), unix.SHUT_WR))
		end := await(t, r, 1)[0]
		require.Zero(t, end.Result)
		require.False(t, end.More())
	})
}

// receiveBurst has the kernel receive at once what has come on many sockets, n pieces on each, into buffers that are
// given back at the end. It returns how often it had no buffer.
func receiveBurst(t *testing.T, r *ring, b *Buffers, sockets, n int) (refused int) {
	t.Helper()
	ones, others := make([]int32, sockets), make([]int32, sockets)
	text, came := make([]byte, n*b.size), make([][]byte, sockets)
	for i := range text {
		text[i] = byte(i / b.size)
	}
	begin := func(i int) {
		must(t, r, Entry{id: uint64(i + 1), Op: OpReceive, How: Multishot | Provided, FD: ones[i]})
	}
	for i := range ones {
		ones[i], others[i] = pair(t)
		_, err := unix.Write(int(others[i]), text)
		require.NoError(t, err)
		begin(i)
	}
	taken := map[int32]bool{}
	for ended := 0; ended < sockets; {
		done, err := r.turn(hang)
		require.NoError(t, err)
		for _, c := range done {
			i := int(c.id - 1)
			number, filled := c.Buffer()
			if filled {
				b.Take(number, int(c.Result))
				require.False(t, taken[number], "buffer %d was not given back", number)
				taken[number] = true
				came[i] = append(came[i], b.Bytes(number)...)
				if len(came[i]) == len(text) {
					require.NoError(t, unix.Shutdown(int(others[i]), unix.SHUT_WR))
				}
			}
			switch {
			case c.Result == 0:
				require.True(t, bytes.Equal(text, came[i]), "the bytes are others, or in another order")
				ended++
			case c.More():
			default:
				if !filled {
					require.ErrorIs(t, c.Err(), syscall.ENOBUFS)
					refused++
				}
				begin(i)
			}
		}
	}
	for number := range taken {
		b.Give(number)
	}
	require.EqualValues(t, len(b.next), b.free.Load())
	return refused
}

// The kernel has as many buffers as a turn may take: few at first, and more when they have not been enough.
func TestBuffersFollowTheLoad(t *testing.T) {
	eachSetup(t, 256, func(t *testing.T, r *ring) {
		b, err := r.provide(1024, 16)
		require.NoError(t, err)
		const sockets, pieces = 30, 20
		for range 3 {
			receiveBurst(t, r, b, sockets, pieces)
		}
		require.Zero(
			t, receiveBurst(t, r, b, sockets, pieces), "times that there was no buffer, although 1,024 are free",
		)
	})
}

// Buffers that have been given back are used before others, which cost memory that the first ones have already.
func TestBuffersAreUsedAgain(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		const count = 4096
		b, err := r.provide(count, 16)
		require.NoError(t, err)
		one, other := pair(t)
		must(t, r, Entry{id: 1, Op: OpReceive, How: Multishot | Provided, FD: one})
		used := map[int32]bool{}
		for range count / 2 {
			_, err := unix.Write(int(other), []byte("x"))
			require.NoError(t, err)
			done := await(t, r, 1)[0]
			require.NoError(t, done.Err())
			number, ok := done.Buffer()
			require.True(t, ok)
			used[number] = true
			b.Take(number, int(done.Result))
			b.Give(number)
		}
		require.LessOrEqual(t, len(used), count/8, "buffers used, of which one at a time was taken")
	})
}

// A wake-up that comes before a wait ends it, and a wake-up that comes during it does, too; so a wait that a wake-up
// follows always ends.
func TestWake(t *testing.T) {
	for _, wait := range []struct {
		name string
		wait func(r proxy) error
	}{
		{"turn", func(r proxy) error { _, err := r.turn(-1); return err }},
		{"idle", func(r proxy) error { _, err := r.idle(-1); return err }},
	} {
		t.Run(wait.name, func(t *testing.T) {
			eachProxy(t, 8, func(t *testing.T, r staging) {
				rounds := int64(500)
				if testing.Short() {
					rounds = 200
				}
				var asked, answered atomic.Int64
				var wakers sync.WaitGroup
				wakers.Add(1)
				go func() {
					defer wakers.Done()
					for n := int64(1); n <= rounds; n++ {
						asked.Store(n)
						r.wake()
						for end := time.Now().Add(hang); answered.Load() < n && time.Now().Before(end); {
							runtime.Gosched()
						}
					}
				}()
				watchdog := time.AfterFunc(hang, func() { panic("a wake-up was lost") })
				defer watchdog.Stop()
				for answered.Load() < rounds {
					for asked.Load() == answered.Load() {
						require.NoError(t, wait.wait(r))
					}
					answered.Add(1)
					watchdog.Reset(hang) // it is for one round: a slow machine may take long for all
				}
				wakers.Wait()
			})
		})
	}
}

// With SINGLE_ISSUER the kernel refuses other threads.
func TestRingBelongsToItsThread(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		_, err := r.turn(0)
		require.NoError(t, err)
		must(t, r, Entry{id: 1, Op: OpNop})
		if r.setup()&setupSingleIssuer == 0 {
			require.Len(t, await(t, r, 1), 1)
			return
		}
		refused := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // and it ends with the goroutine
			_, err := r.turn(0)
			refused <- err
		}()
		require.Error(t, <-refused)
		require.Len(t, await(t, r, 1), 1, "the ring's thread can still submit it")
	})
}

// Requests that the kernel has refused stay in the ring as they are, and the next turn submits them.
func TestRefusedRequests(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		if r.setup()&setupSingleIssuer == 0 {
			return // nothing to have it refuse them
		}
		_, err := r.turn(0)
		require.NoError(t, err)
		one, _ := pair(t)
		must(t, r, Entry{id: 1, Op: OpPoll, FD: one, Flags: unix.POLLIN})
		refused := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // and it ends with the goroutine
			_, err := r.turn(0)
			refused <- err
		}()
		require.Error(t, <-refused)
		require.True(t, r.ready(), "a request is to be submitted")
		must(t, r, Entry{id: 2, Op: OpNop})
		require.EqualValues(t, 2, await(t, r, 1)[0].id, "the poll waits")
		require.False(t, r.ready())
		must(t, r, Entry{id: 3, Op: OpCancel, Offset: 1})
		by := byID(t, await(t, r, 2))
		require.NoError(t, by[3].Err())
		require.ErrorIs(t, by[1].Err(), syscall.ECANCELED)
	})
}
