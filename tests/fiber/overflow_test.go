package fiber_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/stack"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

var overflows = []string{
	newCrashInC("overflow in a C body", trapbody.OverflowBody),
	newCrashInGo("overflow in C called by a Go body", trapbody.Overflow),
	newCrashInGo("overflow in C called by Go called by C called by a Go body", func() {
		trapbody.Call(func() { trapbody.Call(trapbody.Overflow) })
	}),
	newCrash(
		"overflow in C called by Go called by a C body",
		func(b fiber.Backend, _ *fiber.Fiber) (*fiber.Fiber, error) {
			body, argument, _ := trapbody.CallBody(trapbody.Overflow)
			return fiber.NewC(crashConfig(b), body, argument)
		},
	),
	newCrash("overflow after a move to another thread", func(b fiber.Backend, root *fiber.Fiber) (*fiber.Fiber, error) {
		var f *fiber.Fiber
		var err error
		started := onLockedGoroutine(func() {
			var first *fiber.Fiber
			if first, err = fiber.Attach(b); err != nil {
				return
			}
			f, err = fiber.New(crashConfig(b), func() {
				err = fiber.Current().SwitchTo(first)
				trapbody.Overflow()
			})
			if err == nil {
				err = first.SwitchTo(f)
			}
			_ = first.Detach()
		})
		return f, errors.Join(err, started)
	}),
}

var overflowReport = regexp.MustCompile(
	`(?m)^fiberlab: stack overflow on fiber "the deep one": its C stack of (\d+) bytes ` +
		`ran into the (guard page 0x[0-9a-f]+-0x[0-9a-f]+) at (0x[0-9a-f]+); raise Config\.StackSize$`,
)

// One line names the fiber, its size, its guard and the remedy; Go's own report
// follows.
func TestOverflow(t *testing.T) {
	guards := []stack.Guard{stack.GuardAuto, stack.GuardMprotect}
	for _, guard := range guards {
		for _, name := range overflows {
			for _, b := range suite.HandSwitched {
				if (testing.Short() || suite.Slow()) && (guard != stack.GuardAuto || b != fiber.Asm) &&
					name != overflows[0] {
					continue
				}
				t.Run(fmt.Sprintf("%v guards/%s/%v", guard, name, b), func(t *testing.T) {
					t.Parallel()
					out := child.RunCrash(t, name, b, child.EnvGuard+"="+guard.String())
					found := overflowReport.FindAllStringSubmatchIndex(out, -1)
					require.Len(t, found, 1, out)
					report := overflowReport.FindStringSubmatch(out)
					require.Equal(t, fmt.Sprint(crashStack), report[1])
					require.True(t, strings.HasPrefix(out, report[2]+"\n"), "the guard of another fiber:\n%s", out)
					crash.RequireGoReport(t, out[found[0][1]:])
				})
			}
		}
	}
}
