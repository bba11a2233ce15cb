package fiber_test

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/exhaust"
	"fiberlab/tests/internal/trapbody"
)

// lapBodies returns what makes C fibers that switch to root once.
func lapBodies(b fiber.Backend, root *fiber.Fiber) (create func() (*fiber.Fiber, error), laps *[]*trapbody.Laps) {
	laps = new([]*trapbody.Laps)
	return func() (*fiber.Fiber, error) {
		l := trapbody.NewLaps(root.Handle(), 1)
		*laps = append(*laps, l)
		return fiber.NewC(
			fiber.Config{Name: "one too many", Backend: b, StackSize: 4096}, trapbody.LapBody(), l.Argument(),
		)
	}, laps
}

// runAndClose enters each of the fibers of lapBodies twice and closes them.
func runAndClose(t child.T, root *fiber.Fiber, fibers []*fiber.Fiber, laps []*trapbody.Laps) {
	for range 2 {
		for _, f := range fibers {
			if err := root.SwitchTo(f); err != nil {
				require.NoError(t, err)
			}
		}
	}
	for i, f := range fibers {
		require.Equal(t, 1, laps[i].Done())
		require.Zero(t, laps[i].Broken())
		require.NoError(t, f.Close())
	}
	for _, l := range laps {
		l.Free()
	}
}

func maxMapCount(t child.T) int {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	if n > 1<<20 {
		t.Skip("vm.max_map_count is too large to be used up: ", n)
	}
	return n
}

// The package's own stacks use the mappings up, as far as it lets them.
var childMappings = child.New("mappings", func(t child.T, b fiber.Backend) {
	most := maxMapCount(t)
	child.ForceMprotectGuards(t)
	root := child.Root(t, b)
	var over bool
	kept := keepFibers(t, root, 30, &over)
	create, laps := lapBodies(b, root)
	fibers := makeUntilExhausted(t, most/2, create, "vm.max_map_count")
	require.Greater(t, len(fibers), most/2-1000)
	lapAll(t, root, kept)
	exhaust.SpareThreads() // the rest of the process still has mappings for threads
	runAndClose(t, root, fibers, *laps)
	lapAll(t, root, kept)
	endAll(t, root, kept, &over)
	exhaust.RequireRecovered(t, root)
})

// Other code has used them up.
var childOthersMappings = child.New("others' mappings", func(t child.T, b fiber.Backend) {
	most := maxMapCount(t)
	exhaust.SpareHeap()
	debug.SetGCPercent(-1)
	child.ForceMprotectGuards(t)
	root := child.Root(t, b)
	var over bool
	kept := keepFibers(t, root, 30, &over)
	exhaust.SpareThreads()

	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, page*2*most, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	require.NoError(t, err)
	for cut := 0; err == nil; cut++ {
		if cut > most {
			t.Skip("the kernel does not bound the number of mappings")
		}
		err = unix.Mprotect(mem[2*page*cut:][:page], unix.PROT_NONE)
	}
	require.ErrorIs(t, err, unix.ENOMEM)
	require.NoError(t, unix.Mprotect(mem[:page*400], unix.PROT_READ))

	create, laps := lapBodies(b, root)
	fibers := makeUntilExhausted(t, 1000, func() (*fiber.Fiber, error) {
		f, err := create()
		if err != nil { // what follows needs memory of Go's, which may need a mapping
			require.NoError(t, unix.Mprotect(mem[:page*440], unix.PROT_READ))
		}
		return f, err
	}, "vm.max_map_count")
	require.Greater(t, len(fibers), 50)
	lapAll(t, root, kept)
	require.NoError(t, unix.Munmap(mem))
	runAndClose(t, root, fibers, *laps)
	endAll(t, root, kept, &over)
	exhaust.RequireRecovered(t, root)
})
