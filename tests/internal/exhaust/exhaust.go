// Package exhaust is for children that use up what the system gives them.
package exhaust

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
)

// SpareThreads has the runtime start twelve threads, which it keeps. Once memory is used up it could start
// none, and would end the process.
func SpareThreads() {
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

// RequireRecovered checks that the process holds nothing but root, and that a fiber can be made and run again.
// It detaches root.
func RequireRecovered(t child.T, root *fiber.Fiber) {
	require.NoError(t, fiber.Drain())
	stats := fiber.ReadStats()
	require.Equal(t, fiber.Stats{Roots: 1}, stats)
	f, err := fiber.New(fiber.Config{Backend: root.Backend()}, func() { _ = make([]byte, 4096) })
	require.NoError(t, err)
	require.NoError(t, root.SwitchTo(f))
	require.NoError(t, f.Close())
	require.NoError(t, root.Detach())
}

// LimitAddresses lets the address space of the process grow by room bytes at most, until lift is called.
// In an emulator, where that has no effect, it ends the child as skipped.
func LimitAddresses(t child.T, room uint64) (lift func()) {
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

// SpareHeap has the Go runtime keep memory, and records of spans, for what a test allocates while no mapping can be
// made. The runtime ends the process if it needs one then.
func SpareHeap() {
	blocks := make([][]byte, 2048)
	for i := range blocks {
		blocks[i] = make([]byte, 8<<10)
	}
	runtime.KeepAlive(blocks)
	clear(blocks)
	runtime.GC()
}
