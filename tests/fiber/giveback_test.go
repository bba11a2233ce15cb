package fiber_test

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`)

// resident returns the process's resident memory in bytes, when what the collector can give back
// has been given back.
func resident(t child.T) int {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	found := residentLine.FindSubmatch(status)
	require.NotNil(t, found, "%s", status)
	kilobytes, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

// holdAndDrop holds so many fibers, with stacks that have grown, then drops them. It returns the resident memory while
// they were there.
func holdAndDrop(t child.T, b fiber.Backend, crowd int) (held int) {
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	fibers := make([]*fiber.Fiber, crowd)
	for i := range fibers {
		fibers[i], err = fiber.New(fiber.Config{Backend: b}, func() {
			growStack(64)
			require.NoError(t, fiber.Current().SwitchTo(root))
		})
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(fibers[i]))
	}
	held = resident(t)
	for _, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
		require.NoError(t, f.Close())
	}
	clear(fibers)
	require.NoError(t, fiber.Drain())
	require.NoError(t, root.Detach())
	return held
}

var childGivesBack = child.New("gives memory back", func(t child.T, b fiber.Backend) {
	crowd := suite.Scaled(2000, 1000)
	holdAndDrop(t, b, 10) // so that an emulator has translated the code: that is resident, too
	before := resident(t)
	blocked := holdAndDrop(t, b, crowd) - before
	kept := resident(t) - before
	require.Less(t, kept, blocked/2, "bytes that %d dropped fibers keep, of %d that they had", crowd, blocked)
})

// The Go stacks of dropped identities, which the runtime keeps for good, keep no memory.
func TestDroppedFibersGiveMemoryBack(t *testing.T) {
	if suite.RaceDetector {
		t.Skip("the race detector's shadow of the memory that is given back stays resident")
	}
	if suite.AddressSanitizer {
		t.Skip("AddressSanitizer keeps what is freed for a while")
	}
	for _, b := range fiber.Backends() {
		t.Run(b.String(), func(t *testing.T) { child.RunOK(t, childGivesBack, b) })
	}
}

// profileTimers counts the process's timers of CPU profiles.
func profileTimers(t child.T) int {
	timers, err := os.ReadFile("/proc/self/timers")
	if err != nil {
		t.Skip("the kernel does not list timers: ", err)
	}
	return bytes.Count(timers, []byte("\nsignal: 27/"))
}

// suspendedFibers makes n fibers that have run, and end when they are entered again.
func suspendedFibers(t child.T, b fiber.Backend, root *fiber.Fiber, n int) []*fiber.Fiber {
	fibers := make([]*fiber.Fiber, n)
	for i := range fibers {
		f, err := fiber.New(fiber.Config{Backend: b}, func() { require.NoError(t, fiber.Current().SwitchTo(root)) })
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(f))
		fibers[i] = f
	}
	return fibers
}

var childLeavesTimers = child.New("leaves no timers", func(t child.T, b fiber.Backend) {
	const crowd = 300
	require.NoError(t, pprof.StartCPUProfile(io.Discard))
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	fibers := suspendedFibers(t, b, root, crowd)
	for i, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
		require.NoError(t, f.Close())
		if i == crowd/2 {
			require.NoError(t, fiber.Drain()) // half of them are dropped during the profile
		}
	}
	pprof.StopCPUProfile()
	require.NoError(t, root.Detach())
	if profileTimers(t) < crowd {
		t.Skip("the runtime gives Ms no timers here")
	}
	require.NoError(t, fiber.Drain())
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	require.LessOrEqual(t, profileTimers(t), len(threads), "timers; a thread may have one until it next runs Go")

	// Later calls of Drain, several at a time, find the rest of them dealt with.
	ms := countMs()
	for range 20 {
		var all sync.WaitGroup
		for range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				assert.NoError(t, fiber.Drain())
			}()
		}
		all.Wait()
	}
	require.LessOrEqual(t, countMs(), ms+60, "Ms that the runtime had to make for draining")
})

// A CPU profile that is over leaves no timers of dropped identities, once the pool is drained.
func TestNoTimersAreLeft(t *testing.T) {
	for _, b := range suite.HandSwitched {
		t.Run(b.String(), func(t *testing.T) { child.RunOK(t, childLeavesTimers, b) })
	}
}

var childDrainsBesideFibers = child.New("drains beside fibers", func(t child.T, b fiber.Backend) {
	const crowd = 200
	comeAndGo := func() {
		root, err := fiber.Attach(b)
		require.NoError(t, err)
		fibers := suspendedFibers(t, b, root, crowd)
		for _, f := range fibers {
			require.NoError(t, root.SwitchTo(f))
		}
		require.NoError(t, fiber.CloseAll(fibers...))
		require.NoError(t, root.Detach())
	}
	var stop atomic.Bool
	var beside sync.WaitGroup
	beside.Add(1)
	go func() {
		defer beside.Done()
		for !stop.Load() {
			comeAndGo()
		}
	}()
	for range suite.Scaled(60, 20) {
		require.NoError(t, pprof.StartCPUProfile(io.Discard))
		comeAndGo()
		pprof.StopCPUProfile()
		require.NoError(t, fiber.Drain())
	}
	stop.Store(true)
	beside.Wait()
	// Two crowds are there at a time, and as many may be made while all that were dropped are lent to Drain.
	require.LessOrEqual(t, countMs(), 5*crowd, "Ms that the runtime had to make")
})

// To delete the timers of profiles, time and again, beside fibers that come and go, does not make ever more Ms.
func TestDrainingMakesNoMs(t *testing.T) {
	for _, b := range suite.HandSwitched {
		t.Run(b.String(), func(t *testing.T) { child.RunOK(t, childDrainsBesideFibers, b) })
	}
}
