//go:build go1.25

package admission

import (
	"context"
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

// A place that its desk has not handed on goes to a caller that waits.
func TestSinglePlaceIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 1024
		r := New(places, 2)
		desks := []*Desk{r.AddDesk(), r.AddDesk()}
		for range places {
			require.NoError(t, r.TryTake(false))
		}
		for i := range 10 {
			result := waitsFor(t.Context(), r)
			desks[i%2].Give()
			require.NoError(t, <-result)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, r.TryTake(false), ErrFull)
		desks[0].Give()
		desks[0].Close()
		require.NoError(t, r.TryTake(false), "a desk that has been closed has taken a place with it")
	})
}
