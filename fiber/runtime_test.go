package fiber

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"fiberlab/internal/leaktest"
)

func TestTestedReleases(t *testing.T) {
	for _, v := range []string{"go1.24", "go1.24.9", "go1.25.3", "go1.26.8", "go1.27.4", "go1.26rc1", "go1.26.8 " +
		"X:nosomething", "go1.25.1-X:jsonv2"} {
		require.Empty(t, doubts(v, true), v)
	}
	for _, v := range []string{"go1.23.12", "go1.28", "go1.28rc1", "go2.0", "devel go1.29-abcdef", "nonsense"} {
		require.Contains(t, doubts(v, true), v)
		require.NotContains(t, doubts(v, true), "\n")
	}
	require.Contains(t, doubts("go1.26.8", false), probeP)
	require.Contains(t, doubts("go1.99", false), "go1.99 passes the probes")
}

func TestThisRuntimeIsSupported(t *testing.T) {
	require.NoError(t, Supported())
	require.True(t, known.Load())
	require.True(t, handsOnP)
	require.NotZero(t, currentOffset.Load())
	require.NotEqual(t, currentOffset.Load(), rootOffset.Load())
}

// The probes leave nothing behind, and hold at every number of Ps.
func TestProbesAgainAndAgain(t *testing.T) {
	require.NoError(t, Supported())
	require.NoError(t, Drain()) // or the pool would drain itself meanwhile
	before, stats := goleak.IgnoreCurrent(), ReadStats()
	for _, procs := range []int{1, 2, 4} {
		was := runtime.GOMAXPROCS(procs)
		for range 20 {
			if err := tryLife(); err != nil {
				runtime.GOMAXPROCS(was)
				t.Fatal(procs, "Ps:", err)
			}
		}
		runtime.GOMAXPROCS(was)
	}
	require.NoError(t, leaktest.Find(before))
	require.Equal(t, stats, ReadStats())
}

// duringInit is what Supported answered while packages were initialised.
var duringInit = func() (answer struct {
	initializing, deep, other, all bool
	err, prewarm                   error
}) {
	if planted = os.Getenv(envPlanted); planted != "" && planted != probeP {
		runtimeVersion = "go1.99"
	}
	answer.initializing = initializing()
	answer.deep = under(50, initializing)
	other := make(chan bool)
	go func() { other <- initializing() && Supported() == nil }()
	answer.other = <-other
	answer.err = Supported()
	answer.all = known.Load()
	answer.prewarm = Prewarm(Config{Backend: Ucontext}, 1)
	return answer
}()

// under returns what f returns when it is called by so many nested calls.
func under(calls int, f func() bool) bool {
	if calls == 0 {
		return f()
	}
	return under(calls-1, f)
}

// Package initialisation may make fibers, but no C code can call Go until it is over.
func TestSupportedDuringInitialisation(t *testing.T) {
	require.NoError(t, duringInit.err)
	require.True(t, duringInit.initializing)
	require.ErrorContains(t, duringInit.prewarm, "call it from main")
	require.True(t, duringInit.deep, "initialisation that is many calls up")
	require.True(t, duringInit.other, "a goroutine that initialisation waits for")
	require.False(t, duringInit.all)
	require.False(t, initializing())
}

// envPlanted makes a probe fail in a child.
const envPlanted = "FIBERLAB_TEST_PLANTED"

// TestPlantedChild prints what Supported answers in a child of TestFailedProbesAreNamed.
func TestPlantedChild(t *testing.T) {
	if planted == "" {
		require.NoError(t, Supported())
		return
	}
	fmt.Printf("supported: %v\n", Supported())
	os.Exit(0)
}

// Each probe can fail, and then fibers are refused by its name; without the remembered P
// they work, and the user is told so.
func TestFailedProbesAreNamed(t *testing.T) {
	for _, probe := range []string{probeSlot, probeLending, probeBinding, probeDropping, probeInterrupt, probeP} {
		t.Run(probe, func(t *testing.T) {
			argv := append(strings.Fields(os.Getenv("FIBERLAB_EXEC")), os.Args[0], "-test.run=^TestPlantedChild$")
			child := exec.Command(argv[0], argv[1:]...)
			child.Env = append(os.Environ(), envPlanted+"="+probe)
			if probe == probeInterrupt {
				child.Env = append(child.Env, "GODEBUG=asyncpreemptoff=1")
			}
			out, err := child.CombinedOutput()
			require.NoError(t, err, string(out))
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if probe == probeP {
				require.Len(t, lines, 2, string(out))
				require.Contains(t, lines[0], probe)
				require.Contains(t, lines[0], EnvRuntime)
				require.Equal(t, "supported: <nil>", lines[1])
				return
			}
			require.Len(t, lines, 1, string(out))
			require.Contains(t, lines[0], ErrUnsupported.Error()+": go1.99: "+probe+": ")
		})
	}
}
