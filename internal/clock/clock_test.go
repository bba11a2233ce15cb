package clock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInstants(t *testing.T) {
	require.Equal(t, Never, After(1<<63-1))
	require.Less(t, After(-1<<63), Now())
	require.LessOrEqual(t, Now(), After(0))
}
