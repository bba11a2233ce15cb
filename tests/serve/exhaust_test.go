package serve_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/suite"
)

// A server that has no descriptor left for a client goes on serving the clients that it has, and accepts the client
// when another one has gone.
func TestDescriptorsExhausted(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		for _, program := range []string{"echo", "http"} {
			const limit, clients = 100, 125 // each connection takes one: not all can be open at the same time
			told := orderOf(program, o)
			told.Descriptors = limit
			p := startProcess(t, told)
			ask := func(c net.Conn, i int) error {
				var err error
				if program == "http" {
					err = fetch(c)
				} else {
					err = exchange(c, fmt.Append(nil, "I am number ", i))
				}
				if err != nil {
					err = fmt.Errorf("%s: client %d of %d: %w", program, i, clients, err)
				}
				return err
			}
			all := make([]net.Conn, clients)
			for i := range all {
				all[i] = dial(t, p.address) // the kernel has room for connections that are not accepted
				if i < limit/2 {
					require.NoError(t, ask(all[i], i), "before the limit")
				}
			}
			var waiting errgroup.Group
			for i := limit / 2; i < clients; i++ {
				waiting.Go(func() error { return ask(all[i], i) })
			}
			line := p.line(t, "that no descriptor is left")
			require.Contains(t, line, exhausted)
			for i := range limit / 2 {
				require.NoError(t, ask(all[i], i), "while others wait")
			}
			for i := range limit / 2 {
				require.NoError(t, all[i].Close())
			}
			require.NoError(t, waiting.Wait(), "after others have gone")
			for _, c := range all[limit/2:] {
				require.NoError(t, c.Close())
			}
			f := p.end(t)
			require.EqualValues(t, clients, f.Connections, program)
			require.Positive(t, f.Refused, "%s was exhausted, and has not counted it", program)
		}
	})
}

// A user who may lock no memory has a server nevertheless: kernels that count a ring as locked memory refuse it, and
// then driver auto is epoll.
func TestNoLockedMemory(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		told := orderOf("echo", o)
		told.NoLocking = true
		if told.Driver == uring.Uring.String() {
			told.Driver = uring.Auto.String()
		}
		p := startProcess(t, told)
		var all errgroup.Group
		seed := suite.NewRand(t).Uint64()
		for i := range uint64(50) {
			all.Go(func() error { return converse(p.address, seed+i, 100_000, 10_000) })
		}
		require.NoError(t, all.Wait(), suite.Repeat())
		f := p.end(t)
		require.EqualValues(t, 50*100_000, f.BytesOut)
		if told.Driver == uring.Auto.String() && f.Driver != uring.Uring.String() {
			require.Equal(t, uring.Epoll.String(), f.Driver)
			require.Contains(t, f.Why, "ulimit -l")
		}
	})
}
