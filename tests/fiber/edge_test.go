package fiber_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/stack"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
	"fiberlab/tests/internal/trapbody"
)

const (
	edgeStack = 80 << 10 // bytes; no other test asks for as much, so the stacks lie side by side
	edgeSpare = 2 << 10  // bytes of stack with which a switch must get along
)

// envPeer names the backend of the fiber that is switched to, and envLeft how many bytes of its
// stack the first fiber has left.
const (
	envPeer = "FIBERLAB_CRASH_PEER"
	envLeft = "FIBERLAB_CRASH_LEFT"
)

// neighbours returns two fresh fibers, of which the first has its stack right below the guard
// of the second.
func neighbours(t child.T, b fiber.Backend, body, argument unsafe.Pointer) (below, above *fiber.Fiber) {
	cfg := fiber.Config{Name: "the deep one", Backend: b, StackSize: edgeStack}
	var err error
	below, err = fiber.NewC(cfg, trapbody.NilBody(), nil)
	require.NoError(t, err)
	above, err = fiber.NewC(cfg, body, argument)
	require.NoError(t, err)
	lo, _ := above.Stack().Guard()
	require.Equal(t, below.Stack().Hi(), lo, "the stacks are no neighbours")
	return below, above
}

// bytesAt returns n bytes of memory that is not Go's.
func bytesAt(address uintptr, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), n)
}

// The child lets fibers switch with ever less of their stack left, until one hits its guard.
var childEdge = child.New("switch at the edge of a stack", func(t child.T, b fiber.Backend) {
	root := child.Root(t, b)
	other, err := fiber.ParseBackend(os.Getenv(envPeer))
	require.NoError(t, err)
	// Each switches to a suspended fiber, which switches back at once.
	laps := trapbody.NewLaps(root.Handle(), 1<<40)
	peer, err := fiber.NewC(fiber.Config{Backend: other}, trapbody.LapBody(), laps.Argument())
	require.NoError(t, err)
	most, err := strconv.Atoi(os.Getenv(envLeft))
	require.NoError(t, err)
	for left := most; left >= 0; left -= 128 {
		edge := trapbody.NewEdge(peer.Handle(), uintptr(left))
		below, f := neighbours(t, b, trapbody.EdgeBody(), edge.Argument())
		edge.SetLo(f.Stack().Lo())
		seen := bytesAt(below.Stack().Hi()-4096, 4096)
		for i := range seen {
			seen[i] = byte(i * 7)
		}
		was := slices.Clone(seen)
		require.NoError(t, root.SwitchTo(f))
		require.True(t, slices.Equal(was, seen), "with %d bytes left, the switch has written over the neighbour", left)
		if left%1024 == 0 || left <= edgeSpare {
			fmt.Println("left:", left)
		}
	}
})

// A switch near the end of a stack needs little stack, or hits the guard; it never writes over another stack. The first
// sweep finds frames of more than half a page. The second finds frames of more than a page, which step over the guard.
func TestSwitchAtTheEdgeOfAStack(t *testing.T) {
	for _, most := range []int{12 << 10, 4<<10 + 128} {
		for _, b := range suite.HandSwitched {
			for _, peer := range suite.HandSwitched {
				t.Run(fmt.Sprintf("%v to %v/%d", b, peer, most), func(t *testing.T) {
					t.Parallel()
					out := child.RunCrash(t, childEdge, b, envPeer+"="+peer.String(), envLeft+"="+strconv.Itoa(most))
					least := most
					for _, match := range regexp.MustCompile(`(?m)^left: (\d+)$`).FindAllStringSubmatch(out, -1) {
						least, _ = strconv.Atoi(match[1])
					}
					require.LessOrEqual(t, least, edgeSpare, "bytes that a switch needs")
					require.True(
						t, strings.Contains(out, `fiberlab: stack overflow on fiber "the deep one"`),
						"no report of an overflow",
					)
				})
			}
		}
	}
}

// envGuardPages makes a child's fiber have so many pages of guard.
const envGuardPages = "FIBERLAB_CRASH_GUARD_PAGES"

// The child has a C function use a large frame at the end of its stack, from its lowest byte on.
var childStep = child.New("step over a page of guard", func(t child.T, b fiber.Backend) {
	root := child.Root(t, b)
	pages, err := strconv.Atoi(os.Getenv(envGuardPages))
	require.NoError(t, err)
	page := uintptr(os.Getpagesize())
	edge := trapbody.NewEdge(nil, uintptr(pages)*page-64)
	cfg := crashConfig(b)
	cfg.GuardPages = pages
	f, err := fiber.NewC(cfg, trapbody.StepBody(), edge.Argument())
	require.NoError(t, err)
	edge.SetLo(f.Stack().Lo())
	lo, hi := f.Stack().Guard()
	require.Equal(t, uintptr(pages)*page, hi-lo)
	fmt.Printf("guard page %#x-%#x\n", lo, hi)
	require.NoError(t, root.SwitchTo(f))
})

// A guard of several pages catches frames of as many, and the report tells its bounds.
func TestGuardPages(t *testing.T) {
	for _, b := range suite.HandSwitched {
		for _, guard := range []stack.Guard{stack.GuardAuto, stack.GuardMprotect} {
			for _, pages := range []int{1, 2, 16} {
				t.Run(fmt.Sprintf("%v/%v guards/%d pages", b, guard, pages), func(t *testing.T) {
					t.Parallel()
					out := child.RunCrash(
						t, childStep, b, envGuardPages+"="+strconv.Itoa(pages), child.EnvGuard+"="+guard.String(),
					)
					bounds, _, _ := strings.Cut(strings.TrimPrefix(out, "guard page "), "\n")
					plural := ""
					if pages > 1 {
						plural = "s"
					}
					require.Contains(t, out, fmt.Sprintf(
						`fiberlab: stack overflow on fiber "the deep one": its C stack of %d bytes ran into the `+
							`guard page%s %s at `,
						crashStack, plural, bounds,
					))
				})
			}
		}
	}
}

func TestBadGuardPages(t *testing.T) {
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		for _, pages := range []int{-1, stack.MaxGuardPages + 1} {
			cfg := fiber.Config{Name: "odd", Backend: b, GuardPages: pages}
			require.ErrorIs(t, cfg.Check(), stack.ErrGuard)
			f, err := fiber.New(cfg, func() {})
			requireError(t, err, stack.ErrGuard, "new", "odd")
			require.Nil(t, f)
			s, err := sched.New(sched.Config{Backend: b, GuardPages: pages})
			require.ErrorIs(t, err, stack.ErrGuard)
			require.Nil(t, s)
		}
	})
}
