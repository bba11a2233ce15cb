//go:build go1.25

package admission

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// waitsFor has a caller wait for a place in r, and returns the channel of what comes of it.
func waitsFor(ctx context.Context, r *Room) <-chan error {
	result := make(chan error, 1)
	go func() { result <- take(ctx, r, false) }()
	synctest.Wait()
	return result
}

// A place that its thread has not handed on goes to a caller that waits.
func TestSinglePlaceIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 1024
		r := newRoom(places, 2)
		freed := make([]atomic.Uint64, 2)
		for i := range freed {
			r.AddCount(&freed[i])
		}
		for range places {
			require.NoError(t, r.TryTake(false))
		}
		for i := range 10 {
			result := waitsFor(t.Context(), r)
			r.Counted(freed[i%2].Add(1))
			require.NoError(t, <-result)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, r.TryTake(false), errFull)
		freed[0].Add(1)
		r.RemoveCount(&freed[0])
		require.NoError(t, r.TryTake(false), "a count that has been removed has taken a place with it")
	})
}
