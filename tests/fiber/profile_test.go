package fiber_test

import (
	"bytes"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// wanderer is a fiber that goes back to whichever root entered it.
type wanderer struct {
	mu    sync.Mutex // held by the root that has entered it
	root  *fiber.Fiber
	fiber *fiber.Fiber
}

// wander makes n fibers and lets roots on that many threads switch to them in
// random order until all have ended, so that they migrate between threads. Each
// fiber calls work laps times, and switches away after each.
func wander(t *testing.T, b fiber.Backend, threads, n, laps int, work func()) {
	t.Helper()
	wanderers := make([]wanderer, n)
	var ended atomic.Int64
	for i := range wanderers {
		w := &wanderers[i]
		w.fiber = fibertest.New(t, b, "wanderer", func() {
			for range laps {
				work()
				fibertest.Leave(t, w.root)
			}
			ended.Add(1)
		})
	}
	seed := suite.NewRand(t).Uint64()
	var all sync.WaitGroup
	for i := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			root, err := fiber.Attach(b)
			if !assert.NoError(t, err) {
				return
			}
			for state := seed + uint64(i); ended.Load() < int64(n) && !t.Failed(); {
				state = state*6364136223846793005 + 1442695040888963407
				w := &wanderers[(state>>33)%uint64(n)]
				if !w.mu.TryLock() {
					runtime.Gosched()
					continue
				}
				if w.fiber.State() != fiber.Finished {
					w.root = root
					assert.NoError(t, root.SwitchTo(w.fiber))
				}
				w.mu.Unlock()
			}
			assert.NoError(t, root.Detach())
		}()
	}
	all.Wait()
	for i := range wanderers {
		fibertest.Finish(t, wanderers[i].fiber)
	}
}

// someWork allocates, grows the stack and calls C that calls Go.
func someWork() {
	block := make([]byte, 4096)
	block[0] = 1
	trapbody.Call(func() { growStack(int(block[0]) * 8) })
	runtime.KeepAlive(block)
}

// wanderUnder lets fibers wander while observe is called again and again.
func wanderUnder(t *testing.T, b fiber.Backend, observe func()) {
	t.Helper()
	var over atomic.Bool
	var observer sync.WaitGroup
	observer.Add(1)
	go func() {
		defer observer.Done()
		for observe(); !over.Load(); {
			time.Sleep(time.Millisecond) // or the fibers might wait for ever between two stops of the world
			observe()
		}
	}()
	defer observer.Wait()
	defer over.Store(true)
	wander(t, b, 3, suite.Scaled(60, 12), suite.Scaled(100, 30), someWork)
}

func TestProfilesOfWanderingFibers(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		rounds := 0
		wanderUnder(t, b, func() {
			for _, name := range []string{"goroutine", "threadcreate", "heap", "allocs", "block", "mutex"} {
				for debugLevel := range 3 {
					assert.NoError(t, pprof.Lookup(name).WriteTo(io.Discard, debugLevel))
				}
			}
			rounds++
		})
		require.Positive(t, rounds)
	})
}

// The runtime keeps a timer for each M that it profiles, on the thread on which
// the M began.
func TestCPUProfileOfWanderingFibers(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		rounds := 0
		wanderUnder(t, b, func() {
			var out bytes.Buffer
			if !assert.NoError(t, pprof.StartCPUProfile(&out)) {
				return
			}
			for range 200 {
				someWork()
				runtime.Gosched()
			}
			pprof.StopCPUProfile()
			assert.NotZero(t, out.Len())
			rounds++
		})
		require.Positive(t, rounds)

		// The profile may be begun before the fibers and outlive them and their threads.
		var out bytes.Buffer
		require.NoError(t, pprof.StartCPUProfile(&out))
		wander(t, b, 2, 20, 100, func() { growStack(64) })
		require.NoError(t, fiber.Drain())
		require.NoError(t, onLockedGoroutine(func() {
			if b != fiber.Goroutine {
				assert.NoError(t, threadLife(b))
			}
		}))
		pprof.StopCPUProfile()
		require.NotZero(t, out.Len())
	})
}

func TestTraceOfWanderingFibers(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		rounds := 0
		wanderUnder(t, b, func() {
			var out bytes.Buffer
			if !assert.NoError(t, trace.Start(&out)) {
				return
			}
			for range 50 {
				someWork()
				runtime.Gosched()
			}
			trace.Stop()
			assert.True(t, bytes.HasPrefix(out.Bytes(), []byte("go 1.")))
			rounds++
		})
		require.Positive(t, rounds)
	})
}

// What stops the world, walks all stacks or moves Ps about.
func TestUpheavalsAmongWanderingFibers(t *testing.T) {
	stacks := make([]byte, 1<<20)
	upheavals := map[string]func(){
		"stacks":     func() { assert.NotZero(t, runtime.Stack(stacks, true)) },
		"release":    debug.FreeOSMemory,
		"gomaxprocs": func() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)%4 + 1) },
		"statistics": func() { var m runtime.MemStats; runtime.ReadMemStats(&m) },
	}
	for name, upheaval := range upheavals {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
				rounds := 0
				wanderUnder(t, b, func() {
					upheaval()
					rounds++
				})
				require.Positive(t, rounds)
			})
		})
	}
}

// The same while all fibers are suspended.
func TestUpheavalsOverSuspendedFibers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		var fibers []*fiber.Fiber
		for range 50 {
			f := fibertest.New(t, root.Backend(), "suspended", func() {
				for range 8 {
					someWork()
					fibertest.Leave(t, root)
				}
			})
			fibers = append(fibers, f)
		}
		stacks := make([]byte, 4<<20)
		var profile, events bytes.Buffer
		upheavals := []func(){
			func() {
				n := runtime.Stack(stacks, true)
				assert.Contains(t, string(stacks[:n]), "TestUpheavalsOverSuspendedFibers")
			},
			debug.FreeOSMemory,
			func() { runtime.GOMAXPROCS(1) },
			func() { assert.NoError(t, pprof.StartCPUProfile(&profile)) },
			func() { runtime.GOMAXPROCS(4) },
			func() { assert.NoError(t, trace.Start(&events)) },
			func() { assert.NoError(t, pprof.Lookup("goroutine").WriteTo(io.Discard, 2)) },
			runtime.GC,
		}
		for _, upheaval := range upheavals {
			for _, f := range fibers {
				fibertest.Enter(t, root, f)
			}
			upheaval()
		}
		trace.Stop()
		pprof.StopCPUProfile()
		require.NotZero(t, profile.Len())
		require.NotZero(t, events.Len())
		for _, f := range fibers {
			fibertest.Enter(t, root, f)
		}
		fibertest.Finish(t, fibers...)
	})
}
