package fiber_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// growStack uses depth KB of Go stack and reports whether it kept what was in it.
//
//go:noinline
func growStack(depth int) bool {
	var block [1024]byte
	for i := range block {
		block[i] = byte(i + depth)
	}
	if depth > 0 && !growStack(depth-1) {
		return false
	}
	for i := range block {
		if block[i] != byte(i+depth) {
			return false
		}
	}
	return true
}

// deepInC is the C stack, in bytes, that a body uses before it calls Go again. A
// fiber whose bounds the runtime had to guess may use no more than 32 KB.
const deepInC = 48 << 10

// deepBody calls C, which uses most of the smallest stack that a Go body may
// have and calls Go, which in turn does whatever makes the runtime use C stack.
func deepBody(t require.TestingT, leave func(), returned *int) func() {
	return func() {
		intact := trapbody.CallDeep(deepInC, func() {
			require.True(t, growStack(64))
			runtime.GC()
			leave()
			require.True(t, growStack(128))
			runtime.GC()
		})
		require.True(t, intact, "C frames changed while Go ran on top of them")
		*returned++
	}
}

// On the first thread glibc answers the question for a stack's bounds by reading
// /proc/self/maps, and answers with the thread's stack.
var childFirstThread = child.NewOnFirstThread("first thread", func(t child.T, b fiber.Backend) {
	require.Equal(t, os.Getpid(), unix.Gettid())
	root, err := fiber.Attach(b)
	require.NoError(t, err)

	// The counter works: a thread made by C is asked about, once.
	before := trapbody.GlibcAnswers()
	require.NoError(t, trapbody.CallOnThread(func() {}))
	if !suite.AddressSanitizer { // which asks as well, of every thread
		require.Equal(t, before+1, trapbody.GlibcAnswers())
	}

	const n = 64
	glibc, own := trapbody.GlibcAnswers(), trapbody.FiberAnswers()
	fibers := make([]*fiber.Fiber, n)
	returned := 0
	for i := range fibers {
		leave := func() { require.NoError(t, fiber.Current().SwitchTo(root)) }
		fibers[i], err = fiber.New(fiber.Config{Backend: b, StackSize: fiber.MinGoStack}, deepBody(t, leave, &returned))
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(fibers[i]))
		require.Equal(t, fiber.Suspended, fibers[i].State())
	}
	if !suite.AddressSanitizer {
		require.Equal(t, glibc, trapbody.GlibcAnswers(), "glibc was asked for the bounds of a fiber's stack")
	}
	require.Equal(t, own+n, trapbody.FiberAnswers())
	for _, f := range fibers {
		require.NoError(t, root.SwitchTo(f))
		require.NoError(t, f.Close())
	}
	require.Equal(t, n, returned)
	if !suite.AddressSanitizer {
		require.Equal(t, glibc, trapbody.GlibcAnswers())
	}
	require.Equal(t, own+n, trapbody.FiberAnswers(), "asked again about a stack that is known")
	require.Equal(t, os.Getpid(), unix.Gettid())
	require.NoError(t, root.Detach())
	require.NoError(t, fiber.Drain())
	require.Zero(t, fiber.ReadStats().Identities)
})

func TestFirstThread(t *testing.T) {
	for _, b := range suite.HandSwitched {
		t.Run(b.String(), func(t *testing.T) { child.RunOK(t, childFirstThread, b) })
	}
}

// A Go body needs the C stack that the runtime takes for granted; a C body that
// keeps away from Go does not.
func TestSmallestGoStack(t *testing.T) {
	require.Equal(t, 64<<10, fiber.MinGoStack)
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		for _, size := range []int{1, 4096, 32 << 10, fiber.MinGoStack - 1} {
			f, err := fiber.New(fiber.Config{Name: "small", Backend: b, StackSize: size}, func() {})
			require.Nil(t, f)
			require.ErrorIs(t, err, fiber.ErrStackSize)
			require.ErrorContains(t, err, "65536")
			require.ErrorContains(t, err, "small")

			f, err = fiber.NewC(fiber.Config{Backend: b, StackSize: size}, trapbody.LapBody(), nil)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			returned := 0
			body := deepBody(t, func() { fibertest.Leave(t, root) }, &returned)
			for range 8 {
				f, err := fiber.New(fiber.Config{Backend: b, StackSize: fiber.MinGoStack}, body)
				require.NoError(t, err)
				require.Equal(t, fiber.MinGoStack, f.Stack().Size())
				fibertest.Enter(t, root, f)
				fibertest.Enter(t, root, f)
				fibertest.Finish(t, f)
			}
			require.Equal(t, 8, returned)
		})
	})
}
