//go:build go1.25

package sched

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/admission"
)

// unending is a context that does not end at its deadline.
type unending struct{ context.Context }

func (unending) Done() <-chan struct{} { return make(chan struct{}) }
func (unending) Err() error            { return nil }

// requirePassed checks how much time has passed since start. A spinlock that is not free sleeps for microseconds, by
// the bubble's clock.
func requirePassed(t *testing.T, want time.Duration, start time.Time) {
	t.Helper()
	require.GreaterOrEqual(t, time.Since(start), want)
	require.Less(t, time.Since(start), want+10*time.Millisecond)
}

// A caller gives up after the limit, or when its context is done, whichever comes first, and takes no place.
func TestOverloadErrorComesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5 * time.Second
		s := &Scheduler{cfg: Config{MaxQueued: 1, OverloadAfter: limit}, room: admission.New(1, 0, ErrFull, ErrClosed)}
		enqueue := func(ctx context.Context) error { return s.admit(ctx, false) }
		waitsFor := func(ctx context.Context) <-chan error {
			result := make(chan error, 1)
			go func() { result <- enqueue(ctx) }()
			synctest.Wait()
			return result
		}
		require.NoError(t, enqueue(noWait))
		cause := errors.New("the audience has left")
		early, cancel := context.WithTimeoutCause(t.Context(), limit/2, cause)
		defer cancel()
		late, cancel := context.WithTimeoutCause(t.Context(), 9*limit, cause)
		defer cancel()
		start := time.Now()
		lasting, leaving, patient := waitsFor(t.Context()), waitsFor(early), waitsFor(late)
		require.ErrorIs(t, <-leaving, cause)
		requirePassed(t, limit/2, start)
		for _, result := range []<-chan error{lasting, patient} {
			err := <-result
			require.ErrorIs(t, err, ErrOverload)
			require.Regexp(
				t, `waited 5(\.00\d+)?s for room, and 1 still wait to begin \(Config\.MaxQueued\)`, err.Error(),
			)
			requirePassed(t, limit, start)
		}
		require.Zero(t, s.room.Waiting())
		start = time.Now()
		require.ErrorIs(t, enqueue(unending{early}), ErrOverload)
		requirePassed(t, limit, start)
		admitted := waitsFor(late)
		time.Sleep(limit - time.Nanosecond)
		s.room.Give()
		require.NoError(t, <-admitted, "there was room in the last moment")
	})
}
