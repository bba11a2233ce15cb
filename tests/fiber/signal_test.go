package fiber_test

import (
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// storm sends SIGUSR1 to the process and to the threads listed by targets, again
// and again, until calm is called or the test ends. calm returns how many were sent and how many
// arrived at the program.
func storm(t *testing.T, targets func() []int) (calm func() (sent, arrived int)) {
	t.Helper()
	arrivals := make(chan os.Signal, 1)
	signal.Notify(arrivals, unix.SIGUSR1)
	var over atomic.Bool
	var all sync.WaitGroup
	var arrived atomic.Int64
	sent := 0
	all.Add(2)
	go func() {
		defer all.Done()
		for range arrivals {
			arrived.Add(1)
		}
	}()
	go func() {
		defer all.Done()
		pid := os.Getpid()
		send := func() {
			assert.NoError(t, unix.Kill(pid, unix.SIGUSR1))
			sent++
			for _, tid := range targets() {
				if unix.Tgkill(pid, tid, unix.SIGUSR1) == nil { // else the thread has ended
					sent++
				}
			}
		}
		for send(); !over.Load(); {
			send()
			time.Sleep(20 * time.Microsecond)
		}
	}()
	calm = sync.OnceValues(func() (int, int) {
		over.Store(true)
		for arrived.Load() == 0 && !t.Failed() {
			assert.NoError(t, unix.Kill(os.Getpid(), unix.SIGUSR1))
			time.Sleep(time.Millisecond)
		}
		signal.Stop(arrivals)
		close(arrivals)
		all.Wait()
		return sent, int(arrived.Load())
	})
	t.Cleanup(func() { calm() })
	return calm
}

// startSignalLoop starts the goroutine that package os/signal keeps for good.
func startSignalLoop() {
	arrivals := make(chan os.Signal, 1)
	signal.Notify(arrivals, unix.SIGUSR1)
	signal.Stop(arrivals)
}

func allThreads() []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var tids []int
	for _, e := range entries {
		tid := 0
		for _, digit := range e.Name() {
			tid = 10*tid + int(digit-'0')
		}
		tids = append(tids, tid)
	}
	return tids
}

// Signals find threads in C and in Go, on fibers that have just come, that leave,
// that end and whose identities are dropped.
func TestSignalsToWanderingFibers(t *testing.T) {
	startSignalLoop()
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		calm := storm(t, allThreads)
		for range suite.Scaled(10, 2) {
			wander(t, b, 3, suite.Scaled(30, 10), suite.Scaled(50, 10), someWork)
			assert.NoError(t, fiber.Drain())
		}
		if b != fiber.Goroutine {
			assert.NoError(t, threadLives(suite.Scaled(20, 4), b, onLockedGoroutine))
			assert.NoError(t, threadLives(suite.Scaled(20, 4), b, trapbody.CallOnThread))
		}
		sent, arrived := calm()
		t.Logf("%d signals sent, %d arrived", sent, arrived)
		require.Positive(t, arrived)
	})
}

// A C body that never called Go has an empty g slot when a signal comes.
func TestSignalsToBodiesWithoutIdentity(t *testing.T) {
	startSignalLoop()
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			tid := unix.Gettid()
			calm := storm(t, func() []int { return []int{tid, tid, tid} })
			laps := suite.Scaled(500_000, 50_000)
			if b == fiber.Ucontext {
				laps /= 10 // each makes system calls
			}
			one := trapbody.NewLaps(nil, laps)
			defer one.Free()
			other := fibertest.NewC(t, b, "other", trapbody.LapBody(), one.Argument())
			two := trapbody.NewLaps(other.Handle(), laps)
			defer two.Free()
			f := fibertest.NewC(t, b, "lapping", trapbody.LapBody(), two.Argument())
			one.SetPeer(f.Handle())

			fibertest.Enter(t, root, f) // until f ends, having been left laps times
			fibertest.Enter(t, root, other)
			sent, arrived := calm()
			t.Logf("%d signals sent, %d arrived", sent, arrived)
			require.Positive(t, arrived)
			for _, l := range []*trapbody.Laps{one, two} {
				require.Equal(t, laps, l.Done())
				require.Zero(t, l.Broken())
			}
			fibertest.Finish(t, f, other)
		})
	})
}
