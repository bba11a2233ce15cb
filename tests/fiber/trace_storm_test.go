package fiber_test

import (
	"io"
	"os"
	"os/signal"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// envDrops tells a child how many identities to drop.
const envDrops = "FIBERLAB_CRASH_DROPS"

var childDropsUnderTrace = child.New(
	"drops identities while the runtime traces and signals come",
	func(t child.T, b fiber.Backend) {
		most, err := strconv.Atoi(os.Getenv(envDrops))
		require.NoError(t, err)
		var left atomic.Int64
		left.Store(int64(most))
		arrivals := make(chan os.Signal, 1)
		signal.Notify(arrivals, unix.SIGUSR1)
		go func() {
			for range arrivals {
			}
		}()
		require.NoError(t, trace.Start(io.Discard))
		defer trace.Stop()
		var all sync.WaitGroup
		for range 2 {
			all.Add(1)
			go func() {
				defer all.Done()
				root, err := fiber.Attach(b)
				require.NoError(t, err)
				for left.Load() > 0 {
					left.Add(-dropIdentities(t, root))
				}
				require.NoError(t, root.Detach())
			}()
		}
		for left.Load() > 0 {
			for _, tid := range allThreads() {
				_ = unix.Tgkill(unix.Getpid(), tid, unix.SIGUSR1) // unless the thread has ended
			}
			time.Sleep(20 * time.Microsecond)
		}
		all.Wait()
	},
)

// dropIdentities makes fibers, runs them and drops their identities. It returns how many.
func dropIdentities(t child.T, root *fiber.Fiber) int64 {
	fibers := make([]*fiber.Fiber, 50)
	for i := range fibers {
		f, err := fiber.New(fiber.Config{Backend: root.Backend()}, func() {})
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(f))
		fibers[i] = f
	}
	for _, f := range fibers {
		require.NoError(t, f.Close())
	}
	require.NoError(t, fiber.Drain())
	return int64(len(fibers))
}

// While it drops an M, the runtime holds its scheduler's lock if it writes a trace. A signal that came then would
// wait for that lock on the same thread, and with it the whole process.
func TestSignalsWhileIdentitiesAreDroppedUnderATrace(t *testing.T) {
	drops := strconv.Itoa(suite.Scaled(30_000, 3_000))
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		child.RunOK(t, childDropsUnderTrace, b, envDrops+"="+drops)
	})
}
