package tests

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/stack"
)

// keptFiber is a fiber that was made before something ran out, with the laps that
// it has made.
type keptFiber struct {
	fiber *fiber.Fiber
	laps  int
}

// keepFibers makes n fibers that are suspended in mid-function and can be entered
// any number of times until over is set.
func keepFibers(t childT, root *fiber.Fiber, n int, over *bool) []*keptFiber {
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
func lapAll(t childT, root *fiber.Fiber, kept []*keptFiber) {
	for _, k := range kept {
		laps := k.laps
		require.NoError(t, root.SwitchTo(k.fiber))
		require.Equal(t, laps+1, k.laps)
		require.Equal(t, fiber.Suspended, k.fiber.State())
	}
}

// endAll ends and closes them.
func endAll(t childT, root *fiber.Fiber, kept []*keptFiber, over *bool) {
	*over = true
	for _, k := range kept {
		require.NoError(t, root.SwitchTo(k.fiber))
		require.NoError(t, k.fiber.Close())
	}
}

// spareThreads has the runtime start some threads, which it then keeps: when all
// is used up it could not, and would end the process.
func spareThreads() {
	const n = 12
	var all, up sync.WaitGroup
	all.Add(n)
	up.Add(n)
	for range n {
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			up.Done()
			up.Wait()
		}()
	}
	all.Wait()
}

// makeUntilExhausted makes fibers until that is refused, with the right error.
func makeUntilExhausted(t childT, most int, create func() (*fiber.Fiber, error), says ...string) []*fiber.Fiber {
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

// childDone checks that nothing is left, and that what was used up can be used again.
func childDone(t childT, root *fiber.Fiber) {
	require.NoError(t, fiber.Drain())
	stats := fiber.ReadStats()
	require.Equal(t, fiber.Stats{Roots: 1}, stats)
	f, err := fiber.New(fiber.Config{Backend: root.Backend()}, someWork)
	require.NoError(t, err)
	require.NoError(t, root.SwitchTo(f))
	require.NoError(t, f.Close())
	require.NoError(t, root.Detach())
}

// limitAddresses leaves the process that many bytes of addresses more than it has.
func limitAddresses(t childT, room uint64) (lift func()) {
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
	require.NoError(t, err)
	var old, now unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_AS, &old))
	limit := unix.Rlimit{Cur: pages*uint64(os.Getpagesize()) + room, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Skip("RLIMIT_AS cannot be set: ", err)
	}
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_AS, &now))
	if now.Cur != limit.Cur {
		t.Skip("RLIMIT_AS has no effect: the process is emulated")
	}
	return func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &old)) }
}

// envStackSize tells childAddresses the size of its stacks, in bytes.
const envStackSize = "FIBERLAB_CRASH_STACK"

var childAddresses = newChild("addresses", func(t childT, b fiber.Backend) {
	// Package stack leaves some of the room to the rest of the process, which
	// would be ended by the runtime if that could not grow.
	const room, entered = 512 << 20, 100
	size, err := strconv.Atoi(os.Getenv(envStackSize))
	require.NoError(t, err)
	root := childRoot(t, b)
	var over bool
	kept := keepFibers(t, root, 30, &over)
	spareThreads()
	lift := limitAddresses(t, room)

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
	childDone(t, root)
})

func TestExhaustion(t *testing.T) {
	for _, b := range []fiber.Backend{fiber.Asm, fiber.Ucontext} {
		for _, size := range []int{64 << 10, 8 << 20} {
			t.Run(fmt.Sprintf("%s/%d/%v", childAddresses, size, b), func(t *testing.T) {
				runChildOK(t, childAddresses, b, fmt.Sprintf("%s=%d", envStackSize, size))
			})
		}
		for _, name := range []string{childMappings, childOthersMappings} {
			t.Run(fmt.Sprintf("%s/%v", name, b), func(t *testing.T) { runChildOK(t, name, b) })
		}
	}
}
