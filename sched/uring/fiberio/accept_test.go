package fiberio

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/uringtest"
)

// A listener accepts ahead, but not without bounds; none of the connections is lost, and what is left is closed with
// it.
func TestAcceptsAhead(t *testing.T) {
	engines := uring.New(uring.Options{Driver: uring.Uring})
	if _, err := engines.Here(); err != nil {
		uringtest.NoRing(t, err)
		return
	}
	defer func() { require.NoError(t, engines.Close()) }()
	l, err := Listen(context.Background(), engines, "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	e, err := l.d.home()
	require.NoError(t, err)
	if !e.Can(uring.AcceptMany) {
		t.Log("this kernel accepts one at a time")
		require.NoError(t, l.Close())
		return
	}
	state := func() (waiting, under int) {
		l.ahead.mu.Lock()
		defer l.ahead.mu.Unlock()
		return len(l.ahead.waiting), l.ahead.under
	}
	until := func(done func(waiting, under int) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return done(state()) }, hang, 100*time.Microsecond)
	}
	var clients []net.Conn
	dial := func() {
		t.Helper()
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		clients = append(clients, c)
	}
	defer func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}()
	begin := func() { // by a call that ends before a client dials
		t.Helper()
		for d := time.Millisecond; ; d *= 4 {
			require.NoError(t, l.SetDeadline(time.Now().Add(d)))
			_, err := l.Accept()
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			if _, under := state(); under > 0 { // else the machine is too slow for d
				break
			}
		}
		require.NoError(t, l.SetDeadline(time.Time{}))
	}
	begin()
	for i := range mostAccepted { // without a call of Accept since
		dial()
		until(func(waiting, _ int) bool { return waiting == i+1 })
	}
	until(func(_, under int) bool { return under == 0 }) // it has stopped
	for range 10 {
		dial()
	}
	waiting, under := state()
	require.Equal(t, mostAccepted, waiting)
	require.Zero(t, under)

	all := map[string]bool{}
	for range mostAccepted + 5 {
		c, err := l.Accept()
		require.NoError(t, err)
		all[c.RemoteAddr().String()] = true
		_ = c.Close()
	}
	for _, c := range clients[:mostAccepted+5] {
		require.True(t, all[c.LocalAddr().String()])
	}
	for range 5 {
		c, err := l.Accept()
		require.NoError(t, err)
		_ = c.Close()
	}
	begin()
	for i := range 3 {
		dial()
		until(func(waiting, _ int) bool { return waiting == i+1 })
	}
	require.NoError(t, l.Close())
	for _, c := range clients {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(hang)))
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	until(func(waiting, under int) bool { return waiting == 0 && under == 0 })

	late, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	l.ahead.accepted(uring.Completion{Result: int32(late), Flags: uring.MoreToCome})
	require.ErrorIs(t, unix.Close(late), unix.EBADF, "it came after Close and is closed as well")
}

// A kernel accepts a connection ahead, and says that it can accept no more, just after a caller on another thread has
// found none. The caller gets that connection: a separate request would wait for a second one.
func TestAcceptFindsWhatCameLast(t *testing.T) {
	for _, driver := range uring.Drivers() {
		t.Run(driver.String(), func(t *testing.T) {
			engines := uring.New(uring.Options{Driver: driver})
			if _, err := engines.Here(); err != nil {
				uringtest.NoRing(t, err)
				return
			}
			defer func() { require.NoError(t, engines.Close()) }()
			s, err := sched.New(sched.Config{Workers: 1})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			l, err := Listen(context.Background(), engines, "unix", filepath.Join(t.TempDir(), "socket"))
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			client, err := net.Dial("unix", l.Addr().String())
			require.NoError(t, err)
			defer func() { require.NoError(t, client.Close()) }()
			fd, _, err := unix.Accept4(l.d.fd, acceptFlags)
			require.NoError(t, err)

			require.NoError(t, l.SetDeadline(time.Now().Add(hang)))
			l.ahead.under = 1 // the kernel has accepted fd, and says so below
			require.True(t, l.d.acquire())
			l.d.reading.moved = mostMoved - 1 // between the two looks of Accept, its fiber yields
			accepted := make(chan error)
			require.NoError(t, s.Go(func() {
				if err := sched.Get().Go(func() {
					l.ahead.accepted(uring.Completion{Result: int32(fd), Flags: uring.MoreToCome})
					l.ahead.accepted(uring.Completion{Result: -int32(unix.EAGAIN)})
				}); err != nil {
					panic(err)
				}
				c, err := l.Accept()
				if err == nil {
					err = c.Close()
				}
				accepted <- err
			}))
			require.NoError(t, <-accepted)
			require.Zero(t, l.d.reading.moved, "it yielded once")
		})
	}
}
