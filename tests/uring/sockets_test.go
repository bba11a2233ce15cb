package uring_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// option returns an option of a connection's socket.
func option(t *testing.T, c *fiberio.Conn, level, name int) (value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, name) }))
	require.NoError(t, err)
	return value
}

// setOption sets an option of a connection's socket.
func setOption(t *testing.T, c *fiberio.Conn, level, name, value int) {
	t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, name, value) }))
	require.NoError(t, err)
}

// Options are set as in package net, also on connections that are accepted, and may be changed.
func TestSocketOptions(t *testing.T) {
	eachEngines(t, func(t *testing.T, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		client, server, err := connect(engines, l)
		require.NoError(t, err)
		for _, c := range []*fiberio.Conn{client, server} {
			require.NotZero(t, option(t, c, unix.IPPROTO_TCP, unix.TCP_NODELAY))
			require.NotZero(t, option(t, c, unix.SOL_SOCKET, unix.SO_KEEPALIVE))
			require.Equal(t, 15, option(t, c, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE))
			require.Equal(t, 15, option(t, c, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL))
			setOption(t, c, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0)
			require.Zero(t, option(t, c, unix.IPPROTO_TCP, unix.TCP_NODELAY))
			raw, err := c.SyscallConn()
			require.NoError(t, err)
			flags := 0
			require.NoError(t, raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFD, 0) }))
			require.NoError(t, err)
			require.NotZero(t, flags&unix.FD_CLOEXEC)
		}
		require.NoError(t, client.SetLinger(0))
		require.NoError(t, client.Close())
		_, err = server.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.ErrorIs(t, client.SetLinger(0), net.ErrClosed)
		require.NoError(t, server.Close())
		require.NoError(t, l.Close())
	})
}

// fill sends until neither end of a connection has room.
func fill(c *fiberio.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		for b := make([]byte, 1<<16); err == nil; {
			_, err = unix.Write(int(fd), b)
		}
	})
	return errors.Join(failed, expect(unix.EAGAIN, err))
}

// setLinger sets SO_LINGER in the ways that a program has.
var setLinger = map[string]func(c *fiberio.Conn, seconds int) error{
	"SetLinger": (*fiberio.Conn).SetLinger,
	"SyscallConn": func(c *fiberio.Conn, seconds int) error {
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		failed := raw.Control(func(fd uintptr) {
			l := unix.Linger{Onoff: 1, Linger: int32(seconds)}
			err = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &l)
		})
		return errors.Join(failed, err)
	},
}

// A Close that waits until the peer has got everything blocks its fiber alone: others of the worker go on, one of them
// being the peer.
func TestCloseThatLingersBlocksNoThread(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		for way, set := range setLinger {
			for _, reads := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/reads=%v", way, reads), func(t *testing.T) {
					leaks.Check(t)
					engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1})
					l := listen(t, engines, "tcp")
					client, server := pair(t, s, engines, l)
					var closing, closed atomic.Bool
					// the fibers run in this order, each until it waits
					require.NoError(t, onFibers(t, s, func() error {
						if !reads {
							return nil
						}
						_, err := client.Read(make([]byte, 1))
						return expect(net.ErrClosed, err)
					}, func() error {
						if err := errors.Join(fill(client), set(client, 20)); err != nil {
							return err
						}
						closing.Store(true)
						defer closed.Store(true)
						return client.Close()
					}, func() error {
						for !closing.Load() {
							sched.Yield()
						}
						if closed.Load() {
							return errors.New("the worker's thread waited in Close")
						}
						_, err := io.Copy(io.Discard, server)
						return errors.Join(err, server.Close())
					}))
					require.NoError(t, errors.Join(l.Close(), s.Close(), engines.Close()))
				})
			}
		}
	})
}

// Addresses equal the addresses of package net, for each network.
func TestAddresses(t *testing.T) {
	engines := uring.New(uring.Options{Driver: uring.Epoll})
	defer func() { require.NoError(t, engines.Close()) }()
	dir := t.TempDir()
	for _, c := range []struct{ network, listen, dial string }{
		{"tcp", "127.0.0.1:0", "127.0.0.1"},
		{"tcp4", "localhost:0", "localhost"},
		{"tcp", ":0", "127.0.0.1"},
		{"tcp", ":0", ""},
		{"tcp6", "[::1]:0", "::1"},
		{"tcp", "[::]:0", "::1"},
		{"unix", filepath.Join(dir, "socket"), ""},
		{"unix", fmt.Sprintf("@fiberlab-%d", os.Getpid()), ""},
	} {
		l, err := fiberio.Listen(context.Background(), engines, c.network, c.listen)
		if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
			t.Logf("this machine has no IPv6: %v", err)
			continue
		}
		require.NoError(t, err)
		dial := l.Addr().String()
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			dial = net.JoinHostPort(c.dial, fmt.Sprint(tcp.Port))
		}
		got := make(chan net.Conn, 1)
		go func() {
			s, err := l.Accept()
			if err != nil {
				panic(err)
			}
			got <- s
		}()
		theirs, err := net.Dial(c.network, dial) // a client of package net
		require.NoError(t, err)
		server := <-got
		require.Equal(t, theirs.LocalAddr().String(), server.RemoteAddr().String())
		require.Equal(t, theirs.RemoteAddr().String(), server.LocalAddr().String())
		require.Equal(t, theirs.LocalAddr().Network(), server.RemoteAddr().Network())
		_ = server.Close()
		go func() {
			s, _ := l.Accept()
			got <- s
		}()
		ours, err := fiberio.Dial(context.Background(), engines, c.network, dial)
		require.NoError(t, err)
		server = <-got
		require.Equal(t, ours.LocalAddr().String(), server.RemoteAddr().String())
		require.Equal(t, ours.RemoteAddr().String(), server.LocalAddr().String())
		require.NoError(t, errors.Join(ours.Close(), server.Close(), theirs.Close(), l.Close()))
		if c.network == "unix" && c.listen[0] != '@' {
			require.NoFileExists(t, c.listen)
		}
	}
	for _, address := range []string{"127.0.0.1:99999", "127.0.0.1", "no-such-host.invalid:1"} {
		_, err := fiberio.Dial(context.Background(), engines, "tcp", address)
		var as *net.OpError
		require.ErrorAs(t, err, &as, address)
		require.Equal(t, "dial", as.Op)
	}
	_, err := fiberio.Dial(context.Background(), engines, "udp", "127.0.0.1:1")
	require.ErrorIs(t, err, net.UnknownNetworkError("udp"))
	_, err = fiberio.Listen(context.Background(), engines, "tcp4", "[::1]:0")
	require.Error(t, err)
	_, err = fiberio.Listen(context.Background(), engines, "unix", filepath.Join(dir, string(make([]byte, 200))))
	require.ErrorIs(t, err, unix.EINVAL)
	_, err = new(fiberio.Conn).Read(nil)
	require.ErrorIs(t, err, syscall.EINVAL, "the zero value")
	require.ErrorIs(t, new(fiberio.Listener).Close(), syscall.EINVAL)
}

// The descriptor is lent to functions that do not read or write.
func TestSyscallConn(t *testing.T) {
	eachNetwork(t, func(t *testing.T, s *sched.Scheduler, engines *uring.Engines, l *fiberio.Listener) {
		client, server := pair(t, s, engines, l)
		raw, err := client.SyscallConn()
		require.NoError(t, err)
		never := func(uintptr) bool { panic("called") }
		require.ErrorIs(t, raw.Read(never), errors.ErrUnsupported)
		require.ErrorIs(t, raw.Write(never), errors.ErrUnsupported)
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
		require.ErrorIs(t, raw.Control(func(uintptr) { panic("called") }), net.ErrClosed)
	})
}

// A connection and a listener go on with another engine when theirs ends with its scheduler.
func TestDescriptorsOutliveTheirEngine(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1})
		l := listen(t, engines, "tcp")
		client, server := pair(t, s, engines, l)
		require.NoError(t, onFibers(t, s, func() error {
			_, err := client.Write([]byte("x"))
			return err
		}, func() error {
			_, err := server.Read(make([]byte, 1))
			return err
		}))
		read := make(chan error, 2)
		go func() {
			_, err := server.Read(make([]byte, 1))
			read <- err
		}()
		go func() {
			_, err := l.Accept()
			read <- err
		}()
		require.NoError(t, s.Close())
		_, err := client.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, <-read)
		go func() {
			_, err := server.Read(make([]byte, 1))
			read <- err
		}()
		require.NoError(t, engines.Close())
		for range 2 {
			require.ErrorIs(t, <-read, uring.ErrClosed)
		}
		_, err = server.Read(make([]byte, 1))
		require.ErrorIs(t, err, uring.ErrClosed)
		require.NoError(t, errors.Join(client.Close(), server.Close(), l.Close()), "without engines, too")
	})
}

// A process that may open no more descriptors accepts none, says so by an error that is Temporary, and accepts again
// when it may.
func TestNoDescriptorLeft(t *testing.T) {
	eachEngines(t, func(t *testing.T, engines *uring.Engines) {
		l := listen(t, engines, "tcp")
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(client)
		_, err = engines.Here() // there is an engine now. A request to accept would know the old limit
		require.NoError(t, err)
		allow := forbidDescriptors(t)
		defer allow()
		to := l.Addr().(*net.TCPAddr)
		require.NoError(t, unix.Connect(client, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}))
		for range 3 {
			_, err = l.Accept()
			require.ErrorIs(t, err, unix.EMFILE)
			var temporary interface{ Temporary() bool }
			require.ErrorAs(t, err, &temporary)
			require.True(t, temporary.Temporary())
		}
		_, err = fiberio.Dial(context.Background(), engines, "tcp", to.String())
		require.ErrorIs(t, err, unix.EMFILE)
		allow()
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, errors.Join(c.Close(), l.Close()))
	})
}

// A fiber is told as well.
func TestNoDescriptorLeftForFibers(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1})
		l := listen(t, engines, "tcp")
		client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(client)
		allow := forbidDescriptors(t)
		defer allow()
		to := l.Addr().(*net.TCPAddr)
		require.NoError(t, unix.Connect(client, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}))
		require.NoError(t, onFibers(t, s, func() error {
			for range 3 {
				_, err := l.Accept()
				if err := expect(unix.EMFILE, err); err != nil {
					return err
				}
			}
			return nil
		}))
		allow()
		var server net.Conn
		require.NoError(t, onFibers(t, s, func() (err error) {
			server, err = l.Accept()
			return err
		}))
		require.NoError(t, errors.Join(server.Close(), l.Close(), s.Close(), engines.Close()))
	})
}

// forbidDescriptors has the process open no descriptor until the function that it returns is called.
func forbidDescriptors(t *testing.T) (allow func()) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 1 // whatever numbers are free; 0 is the standard input. poll(2) takes no more descriptors than that
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
	return func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }
}

// After many connections, in waves, made and dropped in different ways, nothing is left.
func TestConnectionsLeaveNothing(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		suite.EachConfig(t, []int{2}, func(t *testing.T, cfg sched.Config) {
			engines := uring.New(uring.Options{Driver: driver})
			engines.Attach(&cfg)
			s, err := sched.New(cfg)
			require.NoError(t, err)
			l := listen(t, engines, "unix")
			served := make(chan error, 1)
			require.NoError(t, s.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						served <- expect(net.ErrClosed, err)
						return
					}
					if err := sched.Get().Go(func() {
						_, _ = io.CopyBuffer(writerOnly{c}, readerOnly{c}, make([]byte, 64))
						_ = c.Close()
					}); err != nil {
						panic(err)
					}
				}
			}))
			const wave = 50
			for i := range suite.Scaled(2000, 200) / wave {
				var fs []func() error
				for j := range wave {
					fs = append(fs, func() error { return visit(engines, l, i+j) })
				}
				require.NoError(t, onFibers(t, s, fs...))
			}
			require.NoError(t, l.Close())
			require.NoError(t, <-served)
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
	})
}

// visit makes one connection and ends it in one of some ways.
func visit(engines *uring.Engines, l *fiberio.Listener, way int) error {
	c, err := fiberio.Dial(context.Background(), engines, l.Addr().Network(), l.Addr().String())
	if err != nil {
		return err
	}
	b := make([]byte, 100)
	switch way % 5 {
	case 0: // silent
	case 1: // asks, and does not wait for the answer
		_, err = c.Write(b)
	case 2:
		if _, err = c.Write(b); err == nil {
			_, err = io.ReadFull(c, b)
		}
	case 3: // closes its half
		_, _ = c.Write(b)
		if err = c.CloseWrite(); err == nil {
			_, err = io.Copy(io.Discard, c)
		}
	case 4: // is patient for a moment
		if err = c.SetReadDeadline(time.Now().Add(time.Microsecond)); err == nil {
			_, err = c.Read(b)
			err = expect(os.ErrDeadlineExceeded, err)
		}
	}
	return errors.Join(err, c.Close())
}
