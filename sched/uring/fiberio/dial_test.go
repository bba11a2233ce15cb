package fiberio

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// A listener that cannot have its descriptor leaves neither another one nor the file of its socket.
func TestListenWithoutASecondDescriptor(t *testing.T) {
	engines := uring.New(uring.Options{})
	defer func() { require.NoError(t, engines.Close()) }()
	listens := func(network, address string) error {
		l, err := Listen(context.Background(), engines, network, address)
		if err == nil {
			require.NoError(t, l.Close())
		}
		return err
	}
	file := filepath.Join(t.TempDir(), "socket")
	require.NoError(t, listens("unix", file)) // package net has opened what it keeps
	free := func() int {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		return fd
	}
	first := free()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(first) + 1, Max: limit.Max}))
	byTCP, byUnix := listens("tcp", "127.0.0.1:0"), listens("unix", file)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, byTCP, unix.EMFILE)
	require.ErrorIs(t, byUnix, unix.EMFILE)
	require.Equal(t, first, free())
	require.NoError(t, listens("unix", file), "the socket's file is still there")
}

// To dial is no blocking call, which keeps a thread. So it does not wait until Config.MaxCalls permits one.
func TestDialIsNoBlockingCall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	engines := uring.New(uring.Options{})
	s, err := sched.New(sched.Config{Workers: 1, MaxCalls: 1})
	require.NoError(t, err)
	begun, over, dialled := make(chan bool), make(chan bool), make(chan error, 1)
	require.NoError(t, s.Go(func() {
		_, _ = fibersync.Call(func() (int, error) {
			close(begun)
			<-over
			return 0, nil
		})
	}))
	<-begun
	require.NoError(t, s.Go(func() {
		c, err := Dial(context.Background(), engines, "tcp", l.Addr().String())
		if err == nil {
			err = c.Close()
		}
		dialled <- err
	}))
	select {
	case err = <-dialled:
	case <-time.After(hang):
		err = errors.New("Dial waits for the blocking call of another task")
	}
	close(over)
	require.NoError(t, errors.Join(err, s.Close(), engines.Close(), l.Close()))
}

// A zone whose interface package net cannot find is the number of the interface.
func TestZoneWithoutAName(t *testing.T) {
	address := netAddr(&unix.SockaddrInet6{Addr: [16]byte{0: 0xFE, 1: 0x80, 15: 1}, Port: 80, ZoneId: 1 << 30}, nil)
	require.Equal(t, "[fe80::1%1073741824]:80", address.String())
}
