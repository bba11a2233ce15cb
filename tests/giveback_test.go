package tests

import (
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s*(\d+) kB$`)

// resident returns the process's resident memory in bytes, when what the collector can give back
// has been given back.
func resident(t childT) int {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	found := residentLine.FindSubmatch(status)
	require.NotNil(t, found, "%s", status)
	kilobytes, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

var childGivesBack = newChild("gives memory back", func(t childT, b fiber.Backend) {
	const crowd = 2000
	require.NoError(t, fiber.Prewarm(fiber.Config{Backend: b}, 1))
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	before := resident(t)
	fibers := make([]*fiber.Fiber, crowd)
	for i := range fibers {
		fibers[i], err = fiber.New(fiber.Config{Backend: b}, func() {
			growStack(64)
			require.NoError(t, fiber.Current().SwitchTo(root))
		})
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(fibers[i]))
	}
	blocked := resident(t) - before
	for _, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
		require.NoError(t, f.Close())
	}
	clear(fibers)
	require.NoError(t, fiber.Drain())
	require.NoError(t, root.Detach())
	kept := resident(t) - before
	require.Less(t, kept, blocked/2, "bytes that %d dropped fibers keep, of %d that they had", crowd, blocked)
})

// The Go stacks of dropped identities, which the runtime keeps for good, keep no memory.
func TestDroppedFibersGiveMemoryBack(t *testing.T) {
	for _, b := range fiber.Backends() {
		t.Run(b.String(), func(t *testing.T) { runChildOK(t, childGivesBack, b) })
	}
}
