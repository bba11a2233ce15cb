package serve_test

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/fiber"
	"fiberlab/sched/uring"
	"fiberlab/tests/internal/suite"
)

// Connections come and go in waves. After each of them the server holds as many descriptors, fibers and threads as
// after the others: one wave leaves nothing for the next one to find. How many there are is told by FIBERLAB_STRESS: a
// time for each kind of server.
//
// The runtime keeps the threads that it has started, and uses them again. On a slow machine it may start some more
// late, but a process has a bounded number at once. A loss in each wave shows in any batch of waves.
func TestWaves(t *testing.T) {
	const clients, each = 50, 10
	oneSetup(t, func(t *testing.T, o serve.Setup) {
		o.Address = "0.0.0.0:0"
		s := start(t, serve.Echo(), o)
		_, port, err := net.SplitHostPort(s.Address)
		require.NoError(t, err)
		wave := func(number int) {
			// The server has another address in each wave: the kernel keeps the ports of connections that have ended
			// for a minute.
			address := fmt.Sprintf("127.0.%d.%d:%s", number/250%250, 1+number%250, port)
			var all errgroup.Group
			for i := range clients {
				all.Go(func() error {
					for k := range each {
						c, err := connect(address)
						if err != nil {
							return err
						}
						err = exchange(c, fmt.Append(nil, "I am number ", i, " of wave ", number))
						if k%2 == 0 {
							_ = c.SetLinger(0) // a reset
						}
						_ = c.Close()
						if err != nil {
							return err
						}
					}
					return nil
				})
			}
			require.NoError(t, all.Wait())
		}
		for i := range 3 { // what is kept for later is made by these
			wave(i)
		}
		const fewest = 5 // waves in a batch
		held := settled(t, holdings{})
		waves, now := 3, held
		var grown []int
		for len(grown) == 0 || grown[len(grown)-1] >= fewest && len(grown) < 5 {
			before := now
			end := time.Now().Add(suite.StressTime(t, time.Second, 200*time.Millisecond))
			for first := waves; waves < first+fewest || time.Now().Before(end); waves++ {
				wave(waves)
			}
			now = settled(t, held)
			grown = append(grown, now.threads-before.threads)
		}
		assert.LessOrEqual(t, now.descriptors, held.descriptors, "descriptors after %d waves", waves)
		assert.Less(
			t, grown[len(grown)-1], fewest, "threads that each batch of at least %d waves has left: %d", fewest, grown,
		)
		assert.LessOrEqual(t, now.fibers, held.fibers+2*clients, "fibers after %d waves", waves)
		f := s.end()
		require.EqualValues(t, waves*clients*each, f.Connections)
		t.Logf("%d connections: %+v, %+v at first", f.Connections, now, held)
	})
}

// holdings is what this process has.
type holdings struct{ descriptors, threads, fibers int }

// settled returns what the process has when its descriptors are at most want's, or stay more for long. The server knows
// a moment later what a client has closed. Without a want, it waits until they have become no fewer for a while.
func settled(t *testing.T, want holdings) (now holdings) {
	t.Helper()
	count := func(dir string) int {
		list, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(list)
	}
	end := time.Now().Add(timeout)
	for fewer := 0; fewer < 100 || want.descriptors > 0 && time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		was := now.descriptors
		now = holdings{count("/proc/self/fd"), count("/proc/self/task"), fiber.ReadStats().Fibers}
		if want.descriptors > 0 && now.descriptors <= want.descriptors {
			return now
		}
		fewer++
		if now.descriptors < was {
			fewer = 0
		}
	}
	return now
}

// Engines that can hand few requests to the kernel at a time serve many connections nevertheless.
func TestFewRequests(t *testing.T) {
	someSetups(t, func(t *testing.T, o serve.Setup) {
		if o.Engines != nil {
			o.Engines = &uring.Options{Driver: o.Engines.Driver, Requests: 2}
		}
		s := start(t, serve.Echo(), o)
		seed := suite.NewRand(t).Uint64()
		var all errgroup.Group
		for i := range uint64(100) {
			all.Go(func() error { return converse(s.Address, seed+i, 20_000, 2_000) })
		}
		require.NoError(t, all.Wait())
		require.EqualValues(t, 100*20_000, s.end().BytesOut)
	})
}
