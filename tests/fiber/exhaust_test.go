package fiber_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/stack"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/exhaust"
	"fiberlab/tests/internal/suite"
)

// keptFiber is a fiber that was made before something ran out, with the laps that
// it has made.
type keptFiber struct {
	fiber *fiber.Fiber
	laps  int
}

// keepFibers makes n fibers that are suspended in mid-function and can be entered
// any number of times until over is set.
func keepFibers(t child.T, root *fiber.Fiber, n int, over *bool) []*keptFiber {
	kept := make([]*keptFiber, n)
	for i := range kept {
		k := &keptFiber{}
		f, err := fiber.New(fiber.Config{Name: fmt.Sprint("kept ", i), Backend: root.Backend()}, func() {
			for !*over {
				someWork()
				k.laps++
				require.NoError(t, fiber.Current().SwitchTo(root))
			}
		})
		require.NoError(t, err)
		k.fiber, kept[i] = f, k
	}
	lapAll(t, root, kept)
	return kept
}

// lapAll checks that all that was made before still works.
func lapAll(t child.T, root *fiber.Fiber, kept []*keptFiber) {
	for _, k := range kept {
		laps := k.laps
		require.NoError(t, root.SwitchTo(k.fiber))
		require.Equal(t, laps+1, k.laps)
		require.Equal(t, fiber.Suspended, k.fiber.State())
	}
}

// endAll ends and closes them.
func endAll(t child.T, root *fiber.Fiber, kept []*keptFiber, over *bool) {
	*over = true
	for _, k := range kept {
		require.NoError(t, root.SwitchTo(k.fiber))
		require.NoError(t, k.fiber.Close())
	}
}

// makeUntilExhausted makes fibers until that is refused, with the right error.
func makeUntilExhausted(t child.T, most int, create func() (*fiber.Fiber, error), says ...string) []*fiber.Fiber {
	var fibers []*fiber.Fiber
	before := fiber.ReadStats()
	for {
		f, err := create()
		if err != nil {
			require.Nil(t, f)
			require.ErrorIs(t, err, stack.ErrExhausted)
			require.ErrorIs(t, err, unix.ENOMEM)
			for _, text := range append(says, "one too many") {
				require.ErrorContains(t, err, text)
			}
			fmt.Println(len(fibers), "fibers, then:", err)
			break
		}
		if fibers = append(fibers, f); len(fibers) > most {
			require.Fail(t, "no end of fibers")
		}
	}
	after := fiber.ReadStats()
	require.Equal(t, before.Fibers+len(fibers), after.Fibers)
	require.Equal(t, after.Fibers+after.Idle, after.Stacks, "a stack was lost")
	return fibers
}

// envStackSize tells childAddresses the size of its stacks, in bytes.
const envStackSize = "FIBERLAB_CRASH_STACK"

var childAddresses = child.New("addresses", func(t child.T, b fiber.Backend) {
	// Package stack leaves some of the room to the rest of the process, which
	// would be ended by the runtime if that could not grow.
	const room, entered = 512 << 20, 100
	size, err := strconv.Atoi(os.Getenv(envStackSize))
	require.NoError(t, err)
	root := child.Root(t, b)
	var over bool
	kept := keepFibers(t, root, 30, &over)
	exhaust.SpareThreads()
	lift := exhaust.LimitAddresses(t, room)

	again := 0
	create := func() (*fiber.Fiber, error) {
		return fiber.New(fiber.Config{Name: "one too many", Backend: b, StackSize: size}, func() {
			someWork()
			again++
			require.NoError(t, fiber.Current().SwitchTo(root))
			again++
		})
	}
	fibers := makeUntilExhausted(t, room/size, create, "RLIMIT_AS")
	require.Greater(t, len(fibers), room/size/3)
	lapAll(t, root, kept)
	for _, f := range fibers[min(entered, len(fibers)):] {
		require.NoError(t, f.Close())
	}
	fibers = fibers[:min(entered, len(fibers))]
	for _, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
	}
	fillers := makeUntilExhausted(t, room/size, create, "RLIMIT_AS")
	lapAll(t, root, kept)
	require.ErrorIs(t, fiber.Prewarm(fiber.Config{Backend: b, StackSize: size}, math.MaxInt), stack.ErrExhausted)

	// What ends makes room.
	for range 3 {
		require.NoError(t, root.SwitchTo(fibers[0]))
		require.NoError(t, fibers[0].Close())
		f, err := create()
		require.NoError(t, err)
		_, err = create()
		require.ErrorIs(t, err, stack.ErrExhausted)
		require.NoError(t, root.SwitchTo(f))
		fibers = append(fibers[1:], f)
	}
	lapAll(t, root, kept)
	for _, f := range fillers {
		require.NoError(t, f.Close())
	}
	for _, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
		require.NoError(t, f.Close())
	}
	require.Equal(t, 2*(len(fibers)+3), again)
	lift()
	endAll(t, root, kept, &over)
	exhaust.RequireRecovered(t, root)
})

func TestExhaustion(t *testing.T) {
	for _, b := range suite.HandSwitched {
		for _, size := range []int{64 << 10, 8 << 20} {
			t.Run(fmt.Sprintf("%s/%d/%v", childAddresses, size, b), func(t *testing.T) {
				// glibc would take 64 MB of the addresses for each thread that allocates.
				child.RunOK(t, childAddresses, b, fmt.Sprintf("%s=%d", envStackSize, size), "MALLOC_ARENA_MAX=1")
			})
		}
		if suite.Scaled(1, 0) == 1 || b == fiber.Ucontext { // package stack sets the bounds
			t.Run(fmt.Sprintf("%s/%v", childMappings, b), func(t *testing.T) { child.RunOK(t, childMappings, b) })
		}
		t.Run(fmt.Sprintf("%s/%v", childOthersMappings, b), func(t *testing.T) {
			// Where others leave no mapping, the Go runtime would end the process if it needed one to save the
			// registers of a goroutine that it interrupts.
			child.RunOK(t, childOthersMappings, b, "GODEBUG=asyncpreemptoff=1")
		})
	}
}

var childShortAtFirst = child.New("short of memory at first", func(t child.T, b fiber.Backend) {
	exhaust.SpareThreads()
	exhaust.SpareHeap()
	lift := exhaust.LimitAddresses(t, 4<<20) // less than the stacks need; the race detector needs some, too
	_, err := fiber.Attach(b)
	fmt.Println(err)
	require.ErrorIs(t, err, stack.ErrExhausted)
	require.ErrorIs(t, err, unix.ENOMEM)
	require.NotErrorIs(t, err, fiber.ErrUnsupported)
	require.Equal(t, fiber.Stats{}, fiber.ReadStats())
	lift()
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	exhaust.RequireRecovered(t, root)
})

// A process that is short of memory when it makes its first fiber says so, and makes fibers when there is memory again.
func TestShortOfMemoryAtFirst(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) { child.RunOK(t, childShortAtFirst, b) })
}
