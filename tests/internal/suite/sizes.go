package suite

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
	"fiberlab/sched"
)

// envStress names the environment variable that says how long a stress test works on each backend and policy, such as
// 60s.
const envStress = "FIBERLAB_STRESS"

// StressTime is how long a stress test works on each backend and policy. FIBERLAB_STRESS sets it. Else it is full
// (short under -short and in a slow program) divided among the policies.
func StressTime(t *testing.T, full, short time.Duration) time.Duration {
	if text := os.Getenv(envStress); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err, envStress)
		return d
	}
	return time.Duration(Scaled(int(full), int(short))) / time.Duration(len(sched.Policies()))
}

// Slow reports whether this program runs many times slower than others do: in an emulator or under the race detector.
func Slow() bool { return RaceDetector || ctest.Emulated() }

// small reports whether tests take their short sizes: under -short and in a slow program.
func small() bool { return testing.Short() || Slow() }

// Scaled returns the size of a heavy test: short under -short and in a slow program, full otherwise.
func Scaled(full, short int) int {
	if small() {
		return short
	}
	return full
}
