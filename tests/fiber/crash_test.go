package fiber_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

// Each of these children ends by a crash on a fiber.

// crashStack is the C stack of a fiber that overflows, in bytes.
const crashStack = 128 << 10

// crashConfig describes the fiber that crashes.
func crashConfig(b fiber.Backend) fiber.Config {
	return fiber.Config{Name: "the deep one", Backend: b, StackSize: crashStack}
}

// newCrash registers a child that enters the fiber that make returns, which must
// end the process.
func newCrash(name string, make func(b fiber.Backend, root *fiber.Fiber) (*fiber.Fiber, error)) string {
	return child.New(name, func(t child.T, b fiber.Backend) {
		root := child.Root(t, b)
		f, err := make(b, root)
		require.NoError(t, err)
		if st := f.Stack(); st != nil {
			lo, hi := st.Guard()
			fmt.Printf("guard page %#x-%#x\n", lo, hi)
		}
		err = root.SwitchTo(f)
		fmt.Println("still alive:", err, f.State())
		os.Exit(1)
	})
}

// newCrashInC is newCrash for a C body.
func newCrashInC(name string, body func() unsafe.Pointer) string {
	return newCrash(name, func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
		return fiber.NewC(crashConfig(b), body(), nil)
	})
}

// newCrashInGo is newCrash for a Go body.
func newCrashInGo(name string, body func()) string {
	return newCrash(name, func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
		return fiber.New(crashConfig(b), body)
	})
}

var (
	childNilInCBody = newCrashInC("nil in a C body", trapbody.NilBody)
	childNilAfterGo = newCrash(
		"nil in a C body that has been in Go",
		func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
			_, argument, _ := trapbody.CallBody(someWork)
			return fiber.NewC(crashConfig(b), trapbody.NilAfterGoBody(), argument)
		},
	)
	childNilUnderGo = newCrash(
		"nil in C called by Go called by a C body",
		func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
			body, argument, _ := trapbody.CallBody(trapbody.Nil)
			return fiber.NewC(crashConfig(b), body, argument)
		},
	)
	childNilInC = newCrashInGo("nil in C called by a Go body", trapbody.Nil)
)

// Another fault is no overflow. It is reported all the same, with the fiber's name
// where Go knows nothing of the fiber.
func TestFaultIsNoOverflow(t *testing.T) {
	for _, name := range []string{childNilInCBody, childNilAfterGo, childNilUnderGo, childNilInC} {
		for _, b := range suite.HandSwitched {
			t.Run(name+"/"+b.String(), func(t *testing.T) {
				t.Parallel()
				out := child.RunCrash(t, name, b)
				require.NotContains(t, out, "overflow")
				crash.RequireGoReport(t, out)
				if name != childNilInC {
					require.Contains(t, out, `fiberlab: SIGSEGV in the C body of fiber "the deep one" at address 0x0; `)
				}
			})
		}
	}
}

// envFault names the signal by which a child's C body ends it.
const envFault = "FIBERLAB_CRASH_FAULT"

var childFault = newCrash("fault in a C body", func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
	return fiber.NewC(crashConfig(b), trapbody.FaultBodies()[os.Getenv(envFault)], nil)
})

// Whichever signal ends a C body that has never been in Go, one line names the fiber, and Go's own
// report follows.
func TestEachFaultIsReported(t *testing.T) {
	for sig := range trapbody.FaultBodies() {
		for _, b := range suite.HandSwitched {
			t.Run(sig+"/"+b.String(), func(t *testing.T) {
				t.Parallel()
				out := child.RunCrash(t, childFault, b, envFault+"="+sig)
				require.Contains(t, out, "fiberlab: "+sig+` in the C body of fiber "the deep one"`)
				require.Contains(t, out, "\n"+sig+": ")
				require.Regexp(t, `(?m)^goroutine \d+ `, out)
			})
		}
	}
}

var childQuits = child.New("quits over suspended fibers", func(t child.T, b fiber.Backend) {
	root, err := fiber.Attach(b)
	require.NoError(t, err)
	for range 20 {
		f, err := fiber.New(crashConfig(b), func() { _ = fiber.Current().SwitchTo(root) })
		require.NoError(t, err)
		require.NoError(t, root.SwitchTo(f))
	}
	if os.Getenv(envFault) == "SIGQUIT" {
		require.NoError(t, unix.Kill(os.Getpid(), unix.SIGQUIT))
		select {}
	}
	trapbody.Nil()
})

// When each M must report before the program ends (for a core dump), the program does not wait for the Ms of suspended
// fibers. An emulator has more threads, which do not report, and the runtime waits seconds for them. So no M is asked
// to report there.
func TestCrashOverSuspendedFibers(t *testing.T) {
	emulated := ctest.Emulated()
	traceback := "GOTRACEBACK=crash"
	if emulated {
		traceback = "GOTRACEBACK=all"
	}
	for _, sig := range []string{"SIGQUIT", "SIGSEGV"} {
		for _, b := range suite.HandSwitched {
			t.Run(sig+"/"+b.String(), func(t *testing.T) {
				t.Parallel()
				out := child.RunCrash(t, childQuits, b, envFault+"="+sig, traceback)
				require.Contains(t, out, sig+": ")
				require.Regexp(t, `(?m)^goroutine \d+ `, out)
				if !emulated {
					require.Contains(t, out, "fiberlab: every thread has reported")
				}
			})
		}
	}
}

type record struct{ field int }

// derefNil uses a nil pointer, and recovers from the panic that this must be.
func derefNil(t *testing.T, nowhere *record) {
	defer func() {
		err, ok := recover().(runtime.Error)
		assert.True(t, ok)
		assert.ErrorContains(t, err, "nil pointer dereference")
	}()
	nowhere.field = 1
	assert.Fail(t, "no panic")
}

// A nil pointer in Go code is a panic like any other, also after a move.
func TestNilDereferenceIsAPanic(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		f := fibertest.New(t, root.Backend(), "nil", func() {
			for range 3 {
				derefNil(t, nil)
				fibertest.Leave(t, root)
			}
		})
		for range 4 {
			fibertest.Enter(t, root, f)
		}
		fibertest.Finish(t, f)
	})
}

// So it is in a Go function that a C body calls.
func TestNilDereferenceUnderACBodyIsAPanic(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			body, argument, release := trapbody.CallBody(func() { derefNil(t, nil) })
			defer release()
			f, err := fiber.NewC(fiber.Config{Backend: b, StackSize: fiber.MinGoStack}, body, argument)
			require.NoError(t, err)
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
		})
	})
}

var (
	childPanic         = newCrashInGo("panic", func() { growStack(16); crash.Panic() })
	childPanicUnderC   = newCrashInGo("panic under C", func() { trapbody.Call(crash.Panic) })
	childGoexitInCBody = newCrash("goexit under a C body", func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
		body, argument, _ := trapbody.CallBody(runtime.Goexit)
		return fiber.NewC(crashConfig(b), body, argument)
	})
)

// A panic that is not recovered ends the process and shows the fiber's frames.
func TestUnrecoveredPanic(t *testing.T) {
	for _, name := range []string{childPanic, childPanicUnderC} {
		for _, b := range fiber.Backends() {
			t.Run(name+"/"+b.String(), func(t *testing.T) {
				t.Parallel()
				out := child.RunCrash(t, name, b)
				crash.RequirePanic(t, out)
			})
		}
	}
}

// Below a C body there is no Go frame that Goexit could end in: the runtime says so.
func TestGoexitUnderCBody(t *testing.T) {
	for _, b := range suite.HandSwitched {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			require.Contains(
				t, child.RunCrash(t, childGoexitInCBody, b),
				"runtime.Goexit called in a thread that was not created by the Go runtime",
			)
		})
	}
}

var childTargetReturns = child.New("target returns", func(t child.T, _ fiber.Backend) {
	trapbody.ReturnFromTarget()
	require.Fail(t, "still alive")
})

// A bare context has nowhere to go when its target returns.
func TestBareTargetThatReturns(t *testing.T) {
	out := child.RunCrash(t, childTargetReturns, suite.HandSwitched[0])
	require.Regexp(t, `(?m)^fiberlab: .*return`, out)
}
