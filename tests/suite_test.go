// Package tests holds the suites that see only the public faces of the project.
// Each runs once for every backend.
package tests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
	"fiberlab/stack/stacktest"
)

// envSeed names the environment variable that sets the seed of all random tests,
// so that a run which failed can be repeated.
const envSeed = "FIBERLAB_SEED"

var suiteSeed uint64

func TestMain(m *testing.M) {
	flag.Parse()
	suiteSeed = uint64(time.Now().UnixNano())
	if text := os.Getenv(envSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, envSeed+":", err)
			os.Exit(2)
		}
		suiteSeed = seed
	}
	backend, err := fiber.Default.Resolve()
	guard, guardErr := stacktest.Guard()
	sizes := "full sizes"
	if scaled(1, 0) == 0 {
		sizes = "short sizes"
	}
	fmt.Printf("%s %s, default backend %v %v, guards by %v %v, %s, %s=%d\n",
		runtime.GOARCH, runtime.Version(), backend, err, guard, guardErr, sizes, envSeed, suiteSeed)
	os.Exit(m.Run())
}

// newRand returns a generator that depends on the seed of the run and the name of
// the test only.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	salt := uint64(14695981039346656037)
	for _, b := range []byte(t.Name()) {
		salt = (salt ^ uint64(b)) * 1099511628211
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with %s=%d", envSeed, suiteSeed)
		}
	})
	return rand.New(rand.NewPCG(suiteSeed, salt))
}

// slow tells whether this program runs many times slower than others do: in an emulator or under the race detector.
func slow() bool { return raceDetector || ctest.Emulated() }

// scaled returns the size of a heavy test: short under -short and in a slow program, full otherwise.
func scaled(full, short int) int {
	if testing.Short() || slow() {
		return short
	}
	return full
}

// eachBackend runs test for every backend and checks that it leaves nothing behind.
func eachBackend(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	runOn(t, fiber.Backends(), test)
}

// eachHandSwitched is eachBackend for tests of C bodies and of what only
// hand-switched fibers have.
func eachHandSwitched(t *testing.T, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	runOn(t, []fiber.Backend{fiber.Asm, fiber.Ucontext}, test)
}

func runOn(t *testing.T, backends []fiber.Backend, test func(t *testing.T, b fiber.Backend)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			noLeaks(t)
			test(t, b)
		})
	}
}

// onRoot runs test on the test's own goroutine, which is a root fiber for as long.
func onRoot(t *testing.T, b fiber.Backend, test func(t *testing.T, root *fiber.Fiber)) {
	t.Helper()
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	defer func() { assert.NoError(t, root.Detach()) }()
	test(t, root)
}

// eachRoot is eachBackend with onRoot.
func eachRoot(t *testing.T, test func(t *testing.T, root *fiber.Fiber)) {
	t.Helper()
	eachBackend(t, func(t *testing.T, b fiber.Backend) {
		onRoot(t, b, test)
	})
}

// another runs do on a goroutine of its own that is a root of backend b.
func another(t *testing.T, b fiber.Backend, do func(root *fiber.Fiber)) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		root, err := fiber.Attach(b)
		if !assert.NoError(t, err) {
			return
		}
		defer func() { assert.NoError(t, root.Detach()) }()
		do(root)
	}()
	<-done
}

// newFiber makes a fiber of backend b with a Go body. It must be called on the
// test's goroutine, and the test must finish the fiber and close it.
func newFiber(t *testing.T, b fiber.Backend, name string, body func()) *fiber.Fiber {
	t.Helper()
	f, err := fiber.New(fiber.Config{Name: name, Backend: b}, body)
	require.NoError(t, err)
	return f
}

// newCFiber is newFiber for a C body.
func newCFiber(t *testing.T, b fiber.Backend, name string, fn, arg unsafe.Pointer) *fiber.Fiber {
	t.Helper()
	f, err := fiber.NewC(fiber.Config{Name: name, Backend: b}, fn, arg)
	require.NoError(t, err)
	return f
}

// enter switches from a root to f and demands that it works. For use on the
// test's goroutine.
func enter(t *testing.T, root, f *fiber.Fiber) {
	t.Helper()
	require.NoError(t, root.SwitchTo(f))
}

// leave switches from the fiber that calls it to another one, and marks the test
// as failed if that does not work. For use in bodies, where the test must not be
// ended.
func leave(t *testing.T, to *fiber.Fiber) bool {
	t.Helper()
	return assert.NoError(t, fiber.Current().SwitchTo(to))
}

// endAfterFailure is for the end of a test that holds many fibers. If the test has failed, it ends and closes those that are
// there, so that what is left of them does not make other tests fail. Their bodies must switch to root, and return after
// a bounded number of entries.
func endAfterFailure(t *testing.T, root *fiber.Fiber, fibers []*fiber.Fiber) {
	if !t.Failed() {
		return
	}
	for _, f := range fibers {
		if f == nil {
			continue
		}
		for entries := 0; f.State() == fiber.Suspended && entries < 1000; entries++ {
			if root.SwitchTo(f) != nil {
				break
			}
		}
		_ = f.Close()
	}
}

// finish closes fibers whose bodies have returned.
func finish(t *testing.T, fibers ...*fiber.Fiber) {
	t.Helper()
	for _, f := range fibers {
		require.Equal(t, fiber.Finished, f.State(), "fiber %q", f.Name())
		require.NoError(t, f.Close())
		require.Equal(t, fiber.Closed, f.State(), "fiber %q", f.Name())
	}
}
