//go:build go1.25

package goroutine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInBubble(t *testing.T) {
	require.False(t, InBubble())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, InBubble())
		time.Sleep(time.Hour)
		require.True(t, InBubble())
	})
	require.False(t, InBubble())
}
