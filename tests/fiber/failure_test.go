package fiber_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/suite"
)

// envPlant, if set, makes TestFailureLeavesFibers fail.
const envPlant = "FIBERLAB_PLANT"

// A test that holds fibers, and may be told to fail and to leave them as they are.
func TestFailureLeavesFibers(t *testing.T) {
	planted := os.Getenv(envPlant) != ""
	suite.EachHandSwitched(t, func(t *testing.T, b fiber.Backend) {
		fibertest.OnRoot(t, b, func(t *testing.T, root *fiber.Fiber) {
			fibers := make([]*fiber.Fiber, 500)
			for i := range fibers {
				fibers[i] = fibertest.New(t, b, "left", func() { fibertest.Leave(t, root) })
				fibertest.Enter(t, root, fibers[i])
			}
			if planted {
				leaveMappings(t, 1000)
				require.Fail(t, "planted")
			}
			for _, f := range fibers {
				fibertest.Enter(t, root, f)
			}
			fibertest.Finish(t, fibers...)
		})
	})
}

// leaveMappings makes mappings that stay.
func leaveMappings(t *testing.T, n int) {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, n*page, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	for i := 0; i < n; i += 2 {
		require.NoError(t, unix.Mprotect(mem[i*page:][:page], unix.PROT_NONE))
	}
}

// What a test that failed has left is charged to no other.
func TestFailureIsChargedOnce(t *testing.T) {
	argv := append(
		strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0], "-test.v", "-test.run",
		"^(TestFailureLeavesFibers|TestGoexitUnderC|TestPanicThroughC|TestRing|TestStats|TestNothingGrows)$",
	)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), envPlant+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	failed := regexp.MustCompile(`(?m)^--- FAIL: \w+`).FindAllString(string(out), -1)
	require.Equal(t, []string{"--- FAIL: TestFailureLeavesFibers"}, failed, "%s", out)
	require.Equal(t, 5, strings.Count(string(out), "\n--- PASS: "), "%s", out)
}
