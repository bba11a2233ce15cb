package bench

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"fiberlab/asm/ctest"
	"fiberlab/fiber"
)

// requireReleased fails if the test leaves fibers, stacks, roots or goroutines behind.
func requireReleased(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		require.NoError(t, fiber.Drain())
		require.Equal(t, fiber.Stats{}, fiber.ReadStats())
		goleak.VerifyNone(t, ignore)
	})
}

func TestEveryMechanismSwitches(t *testing.T) {
	names := []string{}
	for _, m := range Mechanisms() {
		names = append(names, m.Name)
		t.Run(m.Name, func(t *testing.T) {
			requireReleased(t)
			s, err := m.Open()
			if absent := new(Absent); errors.As(err, &absent) {
				t.Skip(err)
			}
			require.NoError(t, err)
			for asked, made := range map[int]int{0: 2, 1: 2, 2: 2, 3: 4, 1000: 1000, 1001: 1002} {
				sample, err := s.Run(asked)
				require.NoError(t, err)
				require.Equal(t, made, sample.Operations)
				require.GreaterOrEqual(t, sample.Elapsed, time.Duration(0))
			}
			require.NoError(t, s.Close())
		})
	}
	require.Equal(t, []string{"asm", "asm-inline", "asm-nofp", "ucontext", "sigsetjmp", "boost",
		"pcl", "coroutine", "goroutine", "gosched", "channel", "threads",
		"go-on-asm", "go-on-ucontext"}, names)
}

// A session does not depend on the thread that opened it.
func TestSessionsMoveBetweenThreads(t *testing.T) {
	for _, m := range Mechanisms() {
		t.Run(m.Name, func(t *testing.T) {
			requireReleased(t)
			s, err := m.Open()
			if absent := new(Absent); errors.As(err, &absent) {
				t.Skip(err)
			}
			require.NoError(t, err)
			for range 20 {
				done := make(chan error)
				go func() {
					runtime.LockOSThread() // and the thread ends with the goroutine
					_, err := s.Run(10)
					done <- err
				}()
				require.NoError(t, <-done)
			}
			require.NoError(t, s.Close())
		})
	}
}

func TestLoopsMakeTwoSwitchesToATrip(t *testing.T) {
	program := filepath.Join(t.TempDir(), "trips")
	require.NoError(t, ctest.Compile("-O2", "-Wall", "-Wextra", "-o", program, "testdata/trips.c",
		"../asm/swap_"+runtime.GOARCH+".S", "../asm/context.c"))
	result, err := ctest.Run("", program)
	require.NoError(t, err)
	require.True(t, result.Passed(), "status %d: %s", result.Status, result.Output)
}

// The kernel counts the switches of threads.
func TestThreadsSwitchAsOftenAsTheySay(t *testing.T) {
	const n = 2000
	before := switchesOfThisProcess(t)
	_, err := threads(n)
	require.NoError(t, err)
	require.GreaterOrEqual(t, switchesOfThisProcess(t)-before, int64(n))
}

func switchesOfThisProcess(t *testing.T) int64 {
	var usage unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &usage))
	return int64(usage.Nvcsw) + int64(usage.Nivcsw)
}

// The listing of a switch ends with its jump, and the bare one is the shorter.
func TestListings(t *testing.T) {
	counts := map[string]int{}
	for _, m := range Mechanisms() {
		if m.List != nil {
			text, n := m.List()
			require.Len(t, strings.Split(strings.TrimSpace(text), "\n"), n, text)
			require.Regexp(t, `(jmp|br|ret)[^\n]*\n$`, text)
			counts[m.Name] = n
		}
	}
	if runtime.GOARCH == "amd64" {
		require.Equal(t, 19, counts["asm-nofp"])
		require.Greater(t, counts["asm"], counts["asm-nofp"])
	}
}

func TestRings(t *testing.T) {
	requireReleased(t)
	for name, open := range map[string]func(n int) (Session, error){
		"c":         OpenRing,
		"asm":       func(n int) (Session, error) { return OpenGoRing(fiber.Asm, n) },
		"ucontext":  func(n int) (Session, error) { return OpenGoRing(fiber.Ucontext, n) },
		"goroutine": func(n int) (Session, error) { return OpenGoRing(fiber.Goroutine, n) },
	} {
		for _, n := range []int{1, 2, 99} {
			s, err := open(n)
			require.NoError(t, err, name)
			for _, laps := range []int{1, 2, 7} {
				sample, err := s.Run(laps*(n+1) - n)
				require.NoError(t, err)
				require.Equal(t, laps*(n+1), sample.Operations, "a ring of %d and its root, %d laps", n, laps)
			}
			require.NoError(t, s.Close())
		}
		for _, n := range []int{0, -1} {
			_, err := open(n)
			require.ErrorContains(t, err, "at least 1", name)
		}
	}
}

func TestAThreadGetsItsProcessorsBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	processors := func() (set unix.CPUSet) {
		require.NoError(t, unix.SchedGetaffinity(0, &set))
		return set
	}
	before := processors()
	require.Equal(t, runtime.NumCPU(), before.Count(), "an earlier test left this thread pinned")
	require.NoError(t, onCPU(currentCPU(), func() error {
		inside := processors()
		require.Equal(t, 1, inside.Count())
		require.True(t, inside.IsSet(currentCPU()))
		return nil
	}))
	require.Equal(t, before, processors())
	require.Error(t, onCPU(1023, func() error { return nil }), "there is no such processor")
	require.Equal(t, before, processors())
}
