package child

import (
	"os"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/stack"
)

// EnvGuard names the environment variable that makes a child use guards of that kind.
const EnvGuard = "FIBERLAB_CRASH_GUARD"

// Root attaches a root in a child, after it has seen to the kind of guards that EnvGuard names.
func Root(t T, b fiber.Backend) *fiber.Fiber {
	if os.Getenv(EnvGuard) == stack.GuardMprotect.String() {
		ForceMprotectGuards(t)
	}
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	return root
}

// ForceMprotectGuards makes this process guard stacks by mprotect from now on:
// the kernel refuses the other kind in locked memory, and it is asked only once.
func ForceMprotectGuards(t T) {
	if err := unix.Mlockall(unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		t.Skip("mlockall: ", err)
	}
	pool, err := stack.NewPool(stack.Options{})
	require.NoError(t, err)
	require.NoError(t, unix.Munlockall())
	require.Equal(t, stack.GuardMprotect, pool.Stats().Guard)
	require.NoError(t, pool.Close())
}
