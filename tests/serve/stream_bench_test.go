package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/suite"
)

// streamKinds are the ways in which a server sends streams back.
var streamKinds = []struct {
	name    string
	program string
	tls     bool
}{
	{"echo", "echo", false}, // package serve: io.Copy to a writer that is no connection
	{"tls", "echo", true},
	{"read", "read", false}, // Read and Write in turn
	{"copy", "copy", false}, // io.Copy from the connection to itself
}

// streamRivals are the servers that streams are measured on.
func streamRivals() []rival {
	list := []rival{{"driver=go", order{Driver: "go"}}}
	for _, d := range uring.Drivers() {
		if d == uring.Uring && uring.Probe().Reason != nil {
			continue
		}
		list = append(list, rival{fmt.Sprintf("driver=%v-%v", d, suite.HandSwitched[0]),
			order{Driver: d.String(), Scheduler: config{Workers: 2, Backend: suite.HandSwitched[0], Policy: sched.Stealing}}})
	}
	return list
}

// BenchmarkStream sends streams to a server in a child process, in pieces of one size on each connection, while it
// reads what comes back. MB/s counts what is sent, cpu-us/MB is the server's processor time.
func BenchmarkStream(b *testing.B) {
	for _, kind := range streamKinds {
		for _, conns := range []int{1, 8} {
			for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
				for _, of := range streamRivals() {
					o := of.order
					o.Program, o.TLS, o.Size = kind.program, kind.tls, size
					b.Run(
						fmt.Sprintf("kind=%s/conns=%d/piece=%dK/%s", kind.name, conns, size>>10, of.name),
						func(b *testing.B) {
							benchmarkStream(b, o, conns)
						},
					)
				}
			}
		}
	}
}

// streamed is how many bytes a round of BenchmarkStream sends on all connections.
const streamed = 64 << 20

func benchmarkStream(b *testing.B, o order, conns int) {
	p := startProcess(b, o)
	list := make([]net.Conn, conns)
	for i := range list {
		list[i] = dialStream(b, p.address, o.TLS)
	}
	b.SetBytes(streamed)
	b.ResetTimer()
	for range b.N {
		var all errgroup.Group
		for _, c := range list {
			all.Go(func() error { return sendPieces(c, streamed/conns, o.Size) })
			all.Go(func() error { return readAll(c, streamed/conns) })
		}
		require.NoError(b, all.Wait())
	}
	b.StopTimer()
	for _, c := range list {
		require.NoError(b, c.Close())
	}
	f := p.end(b)
	cpu := (f.UserPerRequest + f.SystemPerRequest) * float64(f.Requests)
	b.ReportMetric(cpu/float64(b.N*streamed)*(1<<20), "cpu-us/MB")
	b.ReportMetric(0, "ns/op")
}

// dialStream connects to a server in a child process, by Go's own net.
func dialStream(b *testing.B, address string, secret bool) net.Conn {
	c, err := net.Dial("tcp", address)
	require.NoError(b, err)
	if !secret {
		return c
	}
	t := tls.Client(c, &tls.Config{InsecureSkipVerify: true}) // the server's certificate is made for the run
	require.NoError(b, t.Handshake())
	return t
}

func sendPieces(c net.Conn, n, size int) error {
	for p := make([]byte, size); n > 0; n -= size {
		if _, err := c.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func readAll(c net.Conn, n int) error {
	for p := make([]byte, 256<<10); n > 0; {
		m, err := c.Read(p[:min(n, len(p))])
		if err != nil {
			return err
		}
		n -= m
	}
	return nil
}

// streamServer sends back what comes until its client has closed the connection.
var streamServers = map[string]func(c net.Conn, size int) error{
	"read": func(c net.Conn, size int) error {
		for p := make([]byte, size); ; {
			n, err := c.Read(p)
			if n > 0 {
				_, err = c.Write(p[:n])
			}
			if err != nil {
				return err
			}
		}
	},
	"copy": func(c net.Conn, _ int) error {
		_, err := io.Copy(c, c)
		return err
	},
}

// runStreams is a server of streamServers.
func (o order) runStreams(ctx context.Context) (*serve.Figures, error) {
	listen := func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
	run := func(f func()) error { go f(); return nil }
	end := func() error { return nil }
	if setup := o.setup(); setup.Engines != nil {
		engines := uring.New(*setup.Engines)
		engines.Attach(&setup.Scheduler)
		s, err := sched.New(setup.Scheduler)
		if err != nil {
			return nil, err
		}
		listen = func() (net.Listener, error) { return fiberio.Listen(ctx, engines, "tcp", "127.0.0.1:0") }
		turn := 0
		run = func(f func()) error { // the accepting fiber alone calls it, and the goroutine that starts that
			turn++
			return s.EnqueueOn(turn%s.Workers(), sched.Task{Func: f})
		}
		end = func() error { return errors.Join(s.Close(), engines.Close()) }
	}
	l, err := listen()
	if err != nil {
		return nil, err
	}
	var before, after unix.Rusage
	err = unix.Getrusage(unix.RUSAGE_SELF, &before)
	var served sync.WaitGroup
	served.Add(1)
	err = errors.Join(err, run(func() {
		defer served.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Add(1)
			_ = run(func() {
				defer served.Done()
				defer func() { _ = c.Close() }()
				_ = streamServers[o.Program](c, o.Size)
			})
		}
	}))
	fmt.Println(l.Addr(), o.Driver)
	<-ctx.Done()
	err = errors.Join(err, l.Close())
	served.Wait()
	err = errors.Join(err, end(), unix.Getrusage(unix.RUSAGE_SELF, &after))
	return &serve.Figures{
		Requests: 1,
		UserPerRequest: float64(
			after.Utime.Nano()-before.Utime.Nano(),
		) / 1000, SystemPerRequest: float64(after.Stime.Nano()-before.Stime.Nano()) / 1000,
	}, err
}
