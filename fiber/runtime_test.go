package fiber

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKnownReleases(t *testing.T) {
	for _, v := range []string{"go1.24", "go1.24.9", "go1.25.3", "go1.26.8", "go1.26rc1", "go1.26.8 X:nosomething", "go1.25.1-X:jsonv2"} {
		require.NoError(t, knownRelease(v, ""), v)
	}
	for _, v := range []string{"go1.23.12", "go1.27", "go1.27rc1", "go2.0", "devel go1.28-abcdef", "", "nonsense"} {
		err := knownRelease(v, "")
		require.ErrorIs(t, err, ErrUnsupported, v)
		require.ErrorContains(t, err, EnvRuntime)
		require.NotContains(t, err.Error(), "\n")
		require.NoError(t, knownRelease(v, "try"), v)
	}
}

func TestThisRuntimeIsSupported(t *testing.T) {
	require.NoError(t, Supported())
	require.True(t, handsOnP)
	require.NotZero(t, currentOffset.Load())
	require.NotEqual(t, currentOffset.Load(), rootOffset.Load())
}
