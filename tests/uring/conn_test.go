package uring_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// listen listens on a network, at an address of the test's own.
func listen(t *testing.T, engines *uring.Engines, network string) *fiberio.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "fiberlab") // t.TempDir has the test's name in it: 108 bytes are the most
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
		address = filepath.Join(dir, "socket")
	}
	l, err := fiberio.Listen(context.Background(), engines, network, address)
	require.NoError(t, err)
	return l
}

// connect returns both ends of a connection to l. It is for goroutines.
func connect(engines *uring.Engines, l *fiberio.Listener) (client, server *fiberio.Conn, err error) {
	accepted := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			server = c.(*fiberio.Conn)
		}
		accepted <- err
	}()
	client, err = fiberio.Dial(context.Background(), engines, l.Addr().Network(), l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	return client, server, <-accepted
}

// Connections do what programs expect of net.Conn, for goroutines whose engines have their own thread, and for
// goroutines that use the engines of workers.
func TestConformance(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		for _, network := range []string{"tcp", "unix"} {
			run := func(t *testing.T, engines *uring.Engines) {
				nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
					l := listen(t, engines, network)
					client, server, err := connect(engines, l)
					if err != nil {
						return nil, nil, nil, err
					}
					return client, server, func() {
						_ = client.Close()
						_ = server.Close()
						_ = l.Close()
					}, nil
				})
			}
			t.Run(network+"/alone", func(t *testing.T) {
				engines := uring.New(uring.Options{Driver: driver})
				run(t, engines)
				require.NoError(t, engines.Close())
			})
			t.Run(network+"/attached", func(t *testing.T) {
				engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 2})
				run(t, engines)
				require.NoError(t, s.Close())
				require.NoError(t, engines.Close())
			})
		}
	})
}
