package tests

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/trapbody"
)

// storm sends SIGUSR1 to the process and to the threads listed by targets, again
// and again, until calm is called. calm returns how many were sent and how many
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
	return func() (int, int) {
		over.Store(true)
		for arrived.Load() == 0 && !t.Failed() {
			assert.NoError(t, unix.Kill(os.Getpid(), unix.SIGUSR1))
			time.Sleep(time.Millisecond)
		}
		signal.Stop(arrivals)
		close(arrivals)
		all.Wait()
		return sent, int(arrived.Load())
	}
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
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		calm := storm(t, allThreads)
		for range scaled(10, 2) {
			wander(t, b, 3, scaled(30, 10), scaled(50, 10), someWork)
			assert.NoError(t, fiber.Drain())
		}
		if b != fiber.Goroutine {
			assert.NoError(t, threadLives(scaled(20, 4), b, onLockedGoroutine))
			assert.NoError(t, threadLives(scaled(20, 4), b, trapbody.CallOnThread))
		}
		sent, arrived := calm()
		t.Logf("%d signals sent, %d arrived", sent, arrived)
		require.Positive(t, arrived)
	})
}

// A C body that never called Go has an empty g slot when a signal comes.
func TestSignalsToBodiesWithoutIdentity(t *testing.T) {
	startSignalLoop()
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			tid := unix.Gettid()
			calm := storm(t, func() []int { return []int{tid, tid, tid} })
			laps := scaled(2_000_000, 50_000)
			if b == fiber.Ucontext {
				laps /= 10 // each makes system calls
			}
			one := trapbody.NewLaps(nil, laps)
			defer one.Free()
			other := newCFiber(t, b, "other", trapbody.LapBody(), one.Argument())
			two := trapbody.NewLaps(other.Handle(), laps)
			defer two.Free()
			f := newCFiber(t, b, "lapping", trapbody.LapBody(), two.Argument())
			one.SetPeer(f.Handle())

			enter(t, root, f) // until f ends, having been left laps times
			enter(t, root, other)
			sent, arrived := calm()
			t.Logf("%d signals sent, %d arrived", sent, arrived)
			require.Positive(t, arrived)
			for _, l := range []*trapbody.Laps{one, two} {
				require.Equal(t, laps, l.Done())
				require.Zero(t, l.Broken())
			}
			finish(t, f, other)
		})
	})
}

// The runtime interrupts a loop without calls by a signal to the thread that it
// knows the fiber by: here, the one that it began and is. Each collection stops
// the world, so that without the signal this would not end.
func TestPreemptionOfFibers(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
		onRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			const n = 4
			var collections atomic.Int64
			var over atomic.Bool
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !over.Load() {
					runtime.GC()
					collections.Add(1)
				}
			}()
			fibers := make([]*fiber.Fiber, n)
			sums := make([]uint64, n)
			rounds := scaled(10, 2)
			for i := range fibers {
				fibers[i] = newFiber(t, b, "tight", func() {
					for range rounds {
						until := collections.Load() + 3
						sum := uint64(i)
						for collections.Load() < until {
							sum = sum*6364136223846793005 + 1
						}
						sums[i] += sum | 1
						leave(t, root)
					}
				})
			}
			for range rounds + 1 {
				for _, f := range fibers {
					enter(t, root, f)
				}
			}
			over.Store(true)
			<-done
			for i := range sums {
				require.NotZero(t, sums[i])
			}
			finish(t, fibers...)
		})
	})
}

// signalState is what a thread has set up for signals.
type signalState struct {
	blocked   uint64
	alternate bool
}

func readSignalState() signalState {
	return signalState{trapbody.Blocked(), trapbody.HasAlternateStack()}
}

// Entering, leaving and dropping identities leaves a thread's alternate stack and
// its signal mask alone.
func TestThreadKeepsItsSignalState(t *testing.T) {
	for name, start := range threadMakers {
		t.Run(name, func(t *testing.T) {
			eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
				for range 5 {
					require.NoError(t, start(func() {
						runtime.LockOSThread()
						defer runtime.UnlockOSThread()
						before := readSignalState()
						assert.True(t, before.alternate)
						assert.NoError(t, threadLife(b)) // its C bodies are dropped on this thread
						assert.Equal(t, before, readSignalState())
						assert.NoError(t, fiber.Drain())
						assert.Equal(t, before, readSignalState())
						assert.NoError(t, threadLife(b))
						assert.Equal(t, before, readSignalState())
					}))
				}
			})
		})
	}
}

// The runtime remembers the mask of the thread that an identity was made on, and
// would set it wherever the identity is dropped.
func TestDropKeepsTheMaskOfItsThread(t *testing.T) {
	eachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		var f *fiber.Fiber
		var free func()
		require.NoError(t, trapbody.CallOnThread(func() {
			root, err := fiber.Attach(b)
			assert.NoError(t, err)
			assert.NoError(t, trapbody.Block(unix.SIG_BLOCK, unix.SIGUSR2))
			body, argument, release := trapbody.CallBody(func() {
				assert.NoError(t, fiber.Current().SwitchTo(root))
			})
			free = release
			f, err = fiber.NewC(fiber.Config{Name: "masked", Backend: b}, body, argument)
			assert.NoError(t, err)
			assert.NoError(t, root.SwitchTo(f))
			assert.NoError(t, root.Detach())
		}))
		require.NoError(t, trapbody.CallOnThread(func() {
			root, err := fiber.Attach(b)
			assert.NoError(t, err)
			before := readSignalState()
			assert.NoError(t, root.SwitchTo(f))
			assert.Equal(t, fiber.Finished, f.State())
			assert.Equal(t, before, readSignalState())
			assert.NoError(t, root.Detach())
		}))
		require.NoError(t, f.Close())
		free()
	})
}
