package uring_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	"fiberlab/tests/internal/leaks"
)

// Zero values and nil pointers answer with errors, as in package net.
func TestNoConnAndNoListener(t *testing.T) {
	b := make([]byte, 4)
	for name, c := range map[string]*fiberio.Conn{"nil": nil, "zero": {}} {
		for op, f := range map[string]func() error{
			"Read":             func() error { _, err := c.Read(b); return err },
			"Write":            func() error { _, err := c.Write(b); return err },
			"WriteTo":          func() error { _, err := c.WriteTo(io.Discard); return err },
			"CloseWrite":       c.CloseWrite,
			"SetDeadline":      func() error { return c.SetDeadline(time.Now()) },
			"SetReadDeadline":  func() error { return c.SetReadDeadline(time.Now()) },
			"SetWriteDeadline": func() error { return c.SetWriteDeadline(time.Now()) },
			"SetLinger":        func() error { return c.SetLinger(0) },
			"SyscallConn": func() error {
				raw, err := c.SyscallConn()
				if err != nil {
					return err
				}
				return raw.Control(func(uintptr) {})
			},
			"Close": c.Close,
		} {
			require.NotPanics(
				t, func() { require.Error(t, f(), "%s of a %s Conn", op, name) }, "%s of a %s Conn", op, name,
			)
		}
		require.Nil(t, c.LocalAddr())
		require.Nil(t, c.RemoteAddr())
	}
	for name, l := range map[string]*fiberio.Listener{"nil": nil, "zero": {}} {
		for op, f := range map[string]func() error{
			"Accept":      func() error { _, err := l.Accept(); return err },
			"SetDeadline": func() error { return l.SetDeadline(time.Now()) },
			"SyscallConn": func() error {
				raw, err := l.SyscallConn()
				if err != nil {
					return err
				}
				return raw.Control(func(uintptr) {})
			},
			"Close": l.Close,
		} {
			require.NotPanics(
				t, func() { require.Error(t, f(), "%s of a %s Listener", op, name) }, "%s of a %s Listener", op, name,
			)
		}
		require.Nil(t, l.Addr())
	}
}

// Files do the same, as in package os.
func TestNoFile(t *testing.T) {
	b := make([]byte, 4)
	for name, f := range map[string]*fiberio.File{"nil": nil, "zero": {}} {
		for op, call := range map[string]func() error{
			"Read":  func() error { _, err := f.Read(b); return err },
			"Write": func() error { _, err := f.Write(b); return err },
			"Seek":  func() error { _, err := f.Seek(0, io.SeekStart); return err },
			"Stat":  func() error { _, err := f.Stat(); return err },
			"Close": f.Close,
		} {
			require.NotPanics(
				t, func() { require.ErrorIs(t, call(), os.ErrInvalid, "%s of a %s File", op, name) }, "%s of a %s File",
				op, name,
			)
		}
	}
}

// The zero value of Engines is as good as New of zero options, and is closed like any other.
func TestZeroEngines(t *testing.T) {
	leaks.Check(t)
	var engines uring.Engines
	in, out := pipe(t)
	_, err := sendBy(here(&engines), out, []byte("x"))
	require.NoError(t, err)
	n, err := receiveBy(here(&engines), in, make([]byte, 2))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, engines.Close())
	require.NoError(t, new(uring.Engines).Close(), "they have never begun")
}

// A connection whose descriptor is closed behind its back harms no other connection: its operations end with errors.
func TestClosedBehindTheConn(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		engines := uring.New(uring.Options{Driver: driver})
		l := listen(t, engines, "tcp")
		client, server, err := connect(engines, l)
		require.NoError(t, err)
		waits := make(chan error, 1)
		go func() {
			_, err := server.Read(make([]byte, 1))
			waits <- err
		}()
		e := here(engines)
		for e.Pending() == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		raw, err := server.SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) { _ = unix.Close(int(fd)) }))
		_, err = server.Write([]byte("x"))
		require.ErrorIs(t, err, unix.EBADF)
		require.ErrorIs(t, server.Close(), unix.EBADF)
		if err := <-waits; !errors.Is(err, unix.EBADF) { // Pending counts a read that the kernel has not seen yet, too
			require.ErrorIs(t, err, net.ErrClosed)
		}
		_ = client.Close()
		require.NoError(t, l.Close())
		require.NoError(t, engines.Close())
	})
}

// Programs that this one starts inherit none of its descriptors.
func TestNoDescriptorIsInherited(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		inherited := func() map[string]int {
			out, err := exec.Command("sh", "-c", "ls -l /proc/$$/fd").Output()
			require.NoError(t, err)
			counts := map[string]int{}
			for _, what := range []string{"socket:", "io_uring", "eventfd", "eventpoll"} {
				counts[what] = strings.Count(string(out), what)
			}
			return counts
		}
		before := inherited() // what started this program may have left some open
		engines := uring.New(uring.Options{Driver: driver})
		l := listen(t, engines, "tcp")
		client, server, err := connect(engines, l)
		require.NoError(t, err)
		require.Equal(t, before, inherited())
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		require.NoError(t, l.Close())
		require.NoError(t, engines.Close())
	})
}

// Networks and addresses that there are not.
func TestStrangeAddresses(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines := uring.New(uring.Options{Driver: driver})
		ctx := context.Background()
		for _, a := range [][2]string{
			{"", "127.0.0.1:0"}, {"udp", "127.0.0.1:0"}, {"tcp", ""}, {"tcp", "127.0.0.1"},
			{"tcp", "127.0.0.1:99999"}, {"tcp", "127.0.0.1:-1"},
			{"tcp4", "[::1]:0"}, {"tcp6", "127.0.0.1:0"}, {"unix", strings.Repeat("x", 200)}, {"unix", "/nowhere/at/all"},
		} {
			_, err := fiberio.Dial(ctx, engines, a[0], a[1])
			var failed *net.OpError
			require.ErrorAs(t, err, &failed, "dial %q", a)
			if a[1] == "" { // package net listens on a free port
				continue
			}
			_, err = fiberio.Listen(ctx, engines, a[0], a[1])
			require.ErrorAs(t, err, &failed, "listen on %q", a)
		}
		_, err := fiberio.Dial(ctx, engines, "tcp", "127.0.0.1:1")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		done, cancel := context.WithCancel(ctx)
		cancel()
		_, err = fiberio.Dial(done, engines, "tcp", "127.0.0.1:1")
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, engines.Close())
		_, err = fiberio.Dial(ctx, engines, "tcp", "127.0.0.1:1")
		require.ErrorIs(t, err, uring.ErrClosed)
	})
}

// callsInUnlock is a lock whose Unlock does input and output, which a fiber that is about to wait must not do.
type callsInUnlock struct {
	sync.Mutex
	call func()
}

func (l *callsInUnlock) Unlock() {
	l.Mutex.Unlock()
	l.call()
}

// Input and output in the Unlock of a wait fails, and loses nothing: the next reader gets all bytes. A close succeeds.
func TestInputInTheUnlockOfAWait(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		for _, buffers := range []int{0, -1} {
			engines, s := attach(t, uring.Options{Driver: driver, Buffers: buffers}, sched.Config{Workers: 1})
			l := listen(t, engines, "tcp")
			client, server, err := connect(engines, l)
			require.NoError(t, err)
			name, got, ctx := filepath.Join(t.TempDir(), "file"), make([]byte, 4), context.Background()
			var reads fibersync.Event
			require.NoError(t, onFibers(t, s, func() error {
				reads.Signal()
				if _, err := client.Read(make([]byte, 4)); err != io.EOF {
					return fmt.Errorf("read until the peer closes: %w", err)
				}
				return client.Close()
			}, func() error {
				reads.Wait() // the other fiber, which is on the same thread, now waits in Read
				file, err := fiberio.Create(ctx, engines, name)
				if err != nil {
					return err
				}
				inUnlock := func(call func() error) (err error) {
					me := sched.Current()
					lock := &callsInUnlock{call: func() { err = call(); me.Notify() }}
					lock.Lock()
					me.Wait(lock, nil)
					return err
				}
				for what, call := range map[string]func() error{
					"Read":     func() error { _, err := server.Read(make([]byte, 4)); return err },
					"2nd Read": func() error { _, err := client.Read(make([]byte, 4)); return err },
					"Accept":   func() error { _, err := l.Accept(); return err },
					"Dial":     func() error { _, err := fiberio.Dial(ctx, engines, "tcp", l.Addr().String()); return err },
					"Open":     func() error { _, err := fiberio.Open(ctx, engines, name); return err },
					"ReadFile": func() error { _, err := fiberio.ReadFile(ctx, engines, name); return err },
					"Write":    func() error { _, err := file.Write(got); return err },
				} {
					assert.ErrorIs(t, inUnlock(call), sched.ErrInWait, what)
				}
				assert.NoError(t, inUnlock(file.Close))
				assert.ErrorIs(t, file.Close(), os.ErrClosed)
				if _, err := client.Write([]byte("text")); err != nil {
					return err
				}
				if _, err = io.ReadFull(server, got); err != nil {
					return err
				}
				if err := inUnlock(server.Close); err != nil { // a request is under way
					assert.ErrorIs(t, err, sched.ErrInWait, "Close")
				}
				assert.ErrorIs(t, server.Close(), net.ErrClosed)
				return nil
			}))
			require.Equal(t, "text", string(got))
			require.NoError(t, l.Close())
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		}
	})
}
