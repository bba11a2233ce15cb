package forkjoin_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
)

func TestJoinContext(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		one := func(context.Context, *forkjoin.Pool) (int, error) { return 1, nil }
		two := func(context.Context, *forkjoin.Pool) (string, error) { return "two", nil }
		bad := func(context.Context, *forkjoin.Pool) (int, error) { return 3, errBad }
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			a, b, err := forkjoin.JoinContext(t.Context(), p, one, two)
			assert.Equal(t, 1, a)
			assert.Equal(t, "two", b)
			assert.NoError(t, err)

			a, _, err = forkjoin.JoinContext(t.Context(), p, bad, two)
			assert.Equal(t, 3, a)
			assert.Equal(t, errBad, err)
			b, a, err = forkjoin.JoinContext(t.Context(), p, two, bad)
			assert.Equal(t, 3, a)
			assert.Contains(t, []string{"two", ""}, b, "nothing, if the other failed first")
			assert.Equal(t, errBad, err)

			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			a, b, err = forkjoin.JoinContext(ctx, p, one, two)
			assert.Zero(t, a)
			assert.Empty(t, b)
			assert.Equal(t, errCause, err)

			requirePanic(t, recovered(func() {
				_, _, _ = forkjoin.JoinContext(
					t.Context(), p, one, func(context.Context, *forkjoin.Pool) (int, error) { panic(errBad) },
				)
			}))
		})
	})
}

// When one fails, the other, which waits for its context, goes on. It has not begun if the one has been quicker.
func TestJoinContextCancelsTheOther(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		schedtest.Perform(t, s, func() {
			fail := func(context.Context, *forkjoin.Pool) (int, error) { return 0, errBad }
			var begun, cancelled bool
			wait := func(ctx context.Context, _ *forkjoin.Pool) (int, error) {
				begun = true
				err := fibersync.NewLatch(1).WaitContext(ctx)
				cancelled = true
				return 0, err
			}
			_, _, err := forkjoin.JoinContext(t.Context(), p, wait, fail)
			assert.Equal(t, errBad, err)
			assert.Equal(t, begun, cancelled)
		})
	})
}
