package park_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/park"
)

// onEach calls test with a goroutine's parker, and with a fiber's parker under each policy.
func onEach(t *testing.T, test func(t *testing.T, p park.Parker)) {
	t.Run("goroutine", func(t *testing.T) { test(t, park.NewGoroutine()) })
	for _, policy := range sched.Policies() {
		t.Run(policy.String(), func(t *testing.T) {
			cfg := sched.Config{Workers: 1, Policy: policy}
			require.NoError(t, sched.Run(cfg, func() { test(t, park.Current()) }))
		})
	}
}

func TestUntilWaitsForWhatItAwaits(t *testing.T) {
	onEach(t, func(t *testing.T, p park.Parker) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, u := range []park.Until{
			{}, {Context: context.Background()}, {Context: ctx, Deadline: time.Now().Add(time.Hour)},
		} {
			var over atomic.Uint64
			p.Unpark() // a token for nothing
			go func() { over.Store(7); p.Unpark() }()
			require.NoError(t, u.Await(p, &over, nil))
			require.NotZero(t, over.Load())
		}
	})
}

func TestUntilEnds(t *testing.T) {
	cause := errors.New("the audience has left")
	onEach(t, func(t *testing.T, p park.Parker) {
		var over atomic.Uint64
		ctx, cancel := context.WithCancelCause(t.Context())
		go cancel(cause)
		require.Same(t, cause, park.Until{Context: ctx, Deadline: time.Now().Add(time.Hour)}.Await(p, &over, nil))
		soon := time.Now().Add(time.Millisecond)
		require.Same(t, park.ErrDeadline, park.Until{Deadline: soon}.Await(p, &over, nil))
		require.Same(t, park.ErrDeadline, park.Until{Context: late{t.Context()}, Deadline: soon}.Await(p, &over, nil))
		timed, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		require.ErrorIs(t, park.Until{Context: timed}.Await(p, &over, nil), context.DeadlineExceeded)
		over.Store(1)
		require.NoError(t, park.Until{Context: timed}.Await(p, &over, nil), "what it waits for has come first")
	})
}

// late is a context that does not end at its deadline.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now(), true }

func TestUntilIsEndless(t *testing.T) {
	require.True(t, park.Until{}.Endless())
	require.True(t, park.Until{Context: context.Background()}.Endless())
	require.False(t, park.Until{Context: t.Context()}.Endless())
	require.False(t, park.Until{Deadline: time.Now()}.Endless())
}
