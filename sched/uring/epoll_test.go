package uring

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// withEpoll runs test with an epoll proxy, on its thread.
func withEpoll(t *testing.T, test func(e *epoll)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, err := openEpoll(8)
	require.NoError(t, err)
	defer e.close()
	test(e)
}

// descriptors returns both ends of a pair of sockets, which the test closes.
func descriptors(t *testing.T) (in, out int) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	return ends[0], ends[1]
}

// turns makes turns that do not wait, and demands that nothing completes.
func turns(t *testing.T, e *epoll) {
	t.Helper()
	for range 3 {
		done, err := e.turn(0)
		require.NoError(t, err)
		require.Empty(t, done)
	}
}

// A descriptor that is closed takes its requests along: they are ended by their numbers. A new file of the same number
// has nothing of it.
func TestEpollNumberUsedAgain(t *testing.T) {
	withEpoll(t, func(e *epoll) {
		b := make([]byte, 8)
		in, out := descriptors(t)
		must(t, e, Entry{id: 1, Op: OpReceive, FD: int32(in), Addr: pinned(t, b), Length: 8})
		turns(t, e)
		require.NoError(t, unix.Close(in))
		require.NoError(t, unix.Close(out))

		again, out := descriptors(t)
		defer unix.Close(again)
		defer unix.Close(out)
		require.Equal(t, in, again, "the number is used again")
		must(t, e, Entry{id: 2, Op: OpReceive, FD: int32(again), Addr: pinned(t, b), Length: 8})
		turns(t, e)
		_, err := unix.Write(out, []byte("new"))
		require.NoError(t, err)
		done := await(t, e, 1)[0]
		require.EqualValues(t, 2, done.id, "the request for the old file has read from the new one")
		require.EqualValues(t, 3, done.Result)
		must(t, e, Entry{id: 3, Op: OpCancel, Offset: 1})
		by := byID(t, await(t, e, 2))
		require.ErrorIs(t, by[1].Err(), syscall.ECANCELED)
		require.NoError(t, by[3].Err())
		require.Empty(t, e.waiting)
	})
}

// A request that has to wait is kept in memory that is used again.
func TestEpollUsesMemoryOfRequestsAgain(t *testing.T) {
	withEpoll(t, func(e *epoll) {
		b := make([]byte, 8)
		in, out := descriptors(t)
		defer unix.Close(in)
		defer unix.Close(out)
		var first *epollRequest
		for i := range 100 {
			must(t, e, Entry{id: 1, Op: OpReceive, FD: int32(in), Addr: pinned(t, b), Length: 8})
			turns(t, e)
			if i == 0 {
				first = e.waiting[1]
			}
			require.Same(t, first, e.waiting[1])
			must(t, e, Entry{id: 2, Op: OpCancel, Offset: 1})
			done, err := e.turn(0)
			require.NoError(t, err)
			require.Len(t, done, 2)
			require.Empty(t, e.waiting)
		}
	})
}

// What ready has found is for the next turn.
func TestEpollReady(t *testing.T) {
	withEpoll(t, func(e *epoll) {
		b := make([]byte, 8)
		in, out := descriptors(t)
		defer unix.Close(in)
		defer unix.Close(out)
		require.False(t, e.ready())
		must(t, e, Entry{id: 1, Op: OpReceive, FD: int32(in), Addr: pinned(t, b), Length: 8})
		require.True(t, e.ready())
		turns(t, e)
		e.looked = 0 // long ago
		require.False(t, e.ready())
		_, err := unix.Write(out, []byte("x"))
		require.NoError(t, err)
		e.looked = 0
		require.True(t, e.ready())
		require.True(t, e.ready())
		done, err := e.turn(0)
		require.NoError(t, err)
		require.Len(t, done, 1)
		require.False(t, e.ready())
	})
}

// Each system call counts as an enter: calls that try a request, and calls that wait.
func TestEpollCounts(t *testing.T) {
	withEpoll(t, func(e *epoll) {
		one, other := pair(t)
		b := make([]byte, 1)
		receive := Entry{id: 1, Op: OpReceive, FD: one, Addr: pinned(t, b), Length: 1}
		before := uint64(0)
		calls := func(completed int) uint64 {
			done, err := e.turn(0)
			require.NoError(t, err)
			require.Len(t, done, completed)
			n := e.counts().Enters - before
			before += n
			return n
		}
		must(t, e, Entry{id: 2, Op: OpNop})
		require.EqualValues(t, 0, calls(1))
		_, err := unix.Write(int(other), []byte("x"))
		require.NoError(t, err)
		must(t, e, receive)
		require.EqualValues(t, 1, calls(1), "it is there: recvfrom")
		must(t, e, receive)
		require.EqualValues(t, 3, calls(0), "recvfrom, epoll_ctl, epoll_pwait")
		_, err = unix.Write(int(other), []byte("x"))
		require.NoError(t, err)
		require.EqualValues(t, 2, calls(1), "epoll_pwait, recvfrom")
		require.Equal(t, Stats{Enters: before, Submitted: 3, Collected: 3}, e.counts())
	})
}

// A socket in blocking mode blocks no thread, neither empty nor full.
func TestEpollBlockingModes(t *testing.T) {
	withEpoll(t, func(e *epoll) {
		in, out := descriptors(t)
		defer unix.Close(in)
		defer unix.Close(out)
		big := bytes.Repeat([]byte("0123456789"), 50_000) // more than a socket has room for
		back := make([]byte, len(big))
		sent, received := 0, 0
		write := func() {
			must(t, e, Entry{
				id: 1, Op: OpSend, FD: int32(out), Addr: pinned(t, big[sent:]), Length: uint32(len(big) - sent),
			})
		}
		read := func() {
			must(t, e, Entry{
				id: 2, Op: OpReceive, FD: int32(in), Addr: pinned(t, back[received:]),
				Length: uint32(min(7000, len(big)-received)),
			})
		}
		write()
		for full := false; !full; {
			done, err := e.turn(0)
			require.NoError(t, err)
			if full = len(done) == 0; !full {
				sent += int(done[0].Result)
				write()
			}
		}
		require.Less(t, sent, len(big))
		for read(); received < len(big); {
			done, err := e.turn(time.Second)
			require.NoError(t, err)
			for _, c := range done {
				require.NoError(t, c.Err())
				switch c.id {
				case 1:
					if sent += int(c.Result); sent < len(big) {
						write()
					}
				case 2:
					if received += int(c.Result); received < len(big) {
						read()
					}
				}
			}
		}
		require.Equal(t, big, back)
	})
}

// Epoll watches no regular files: a request that would have to wait for one is answered.
func TestEpollRefusesFiles(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, p staging) {
		fd, err := unix.Open(filepath.Join(t.TempDir(), "file"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		require.NoError(t, err)
		defer unix.Close(fd)
		must(t, p, Entry{id: 1, Op: OpPoll, FD: int32(fd), Flags: unix.POLLPRI})
		require.ErrorIs(t, await(t, p, 1)[0].Err(), syscall.EINVAL)
		must(t, p, Entry{id: 2, Op: OpPoll, FD: int32(fd), Flags: unix.POLLIN})
		require.EqualValues(t, unix.POLLIN, await(t, p, 1)[0].Result)
	})
}

// A request that polls a terminal waits for a line, and blocks no thread.
func TestTerminal(t *testing.T) {
	eachProxy(t, 8, func(t *testing.T, p staging) {
		user, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(user)
		require.NoError(t, unix.IoctlSetPointerInt(user, unix.TIOCSPTLCK, 0))
		number, err := unix.IoctlGetInt(user, unix.TIOCGPTN)
		require.NoError(t, err)
		terminal, err := unix.Open(fmt.Sprintf("/dev/pts/%d", number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(terminal)
		b := make([]byte, 16)
		must(t, p, Entry{id: 1, Op: OpPoll, FD: int32(terminal), Flags: unix.POLLIN})
		_, err = unix.Write(user, []byte("half a "))
		require.NoError(t, err)
		done, err := p.turn(0)
		require.NoError(t, err)
		require.Empty(t, done)
		must(t, p, Entry{id: 2, Op: OpCancel, Offset: 99})
		require.EqualValues(t, 2, await(t, p, 1)[0].id, "the thread is not blocked")
		_, err = unix.Write(user, []byte("line\n"))
		require.NoError(t, err)
		require.NoError(t, await(t, p, 1)[0].Err())
		n, err := unix.Read(terminal, b)
		require.NoError(t, err)
		require.Equal(t, "half a line\n", string(b[:n]))
	})
}
