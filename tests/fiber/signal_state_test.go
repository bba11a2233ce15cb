package fiber_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

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
			suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
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
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
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
