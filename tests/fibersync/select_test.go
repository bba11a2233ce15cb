package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
)

func TestSelectDoesWhatIsPossible(t *testing.T) {
	eachCompany(t, func(c *company) {
		c.start(func() {
			ctx := context.Background()
			empty, full := fibersync.NewChannel[int](1), fibersync.NewChannel[string](1)
			full.Send("a")
			var got string
			cases := []fibersync.Case{
				empty.OnReceive(func(int, bool) { got = "nothing" }),
				full.OnSend("b", func() { got = "room" }),
				full.OnReceive(func(v string, ok bool) { got = v }),
				(*fibersync.Channel[int])(nil).OnReceive(nil),
				(*fibersync.Channel[int])(nil).OnSend(1, nil),
			}
			i, err := fibersync.Select(ctx, cases...)
			assert.Equal(c.t, []any{2, nil, "a"}, []any{i, err, got})
			i, err = fibersync.TrySelect(cases...)
			assert.Equal(c.t, []any{1, nil, "room"}, []any{i, err, got}, "the same cases serve again")
			i, err = fibersync.TrySelect(empty.OnReceive(nil), full.OnSend("c", nil))
			assert.Equal(c.t, []any{-1, nil}, []any{i, err}, "nothing is possible")
			i, err = fibersync.TrySelect()
			assert.Equal(c.t, []any{-1, nil}, []any{i, err}, "no cases")
		})
	})
}

func TestSelectOfClosedChannels(t *testing.T) {
	ch, other := fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)
	ch.Close()
	closed := false
	i, err := fibersync.Select(
		context.Background(), other.OnReceive(nil), ch.OnReceive(func(v int, ok bool) { closed = v == 0 && !ok }),
	)
	assert.Equal(t, []any{1, nil, true}, []any{i, err, closed})
	i, err = fibersync.TrySelect(ch.OnSend(1, func() { t.Error("a closed channel was sent to") }))
	assert.Equal(t, 0, i)
	require.ErrorIs(t, err, fibersync.ErrClosed)
}

// A Select that waits goes on by the one case that another client makes possible.
func TestSelectWaitsForOneOfSeveral(t *testing.T) {
	eachCompany(t, func(c *company) {
		ctx := context.Background()
		in, out, done := fibersync.NewChannel[int](0), fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)
		const rounds = 10
		var sum, sent int // of the selecting client
		c.start(func() {
			for open := true; open; {
				_, err := fibersync.Select(ctx,
					in.OnReceive(func(v int, ok bool) { sum += v }),
					out.OnSend(sum, func() { sent++ }),
					done.OnReceive(func(_ int, ok bool) { open = ok }))
				assert.NoError(c.t, err)
			}
		})
		c.start(func() {
			want := 0
			for i := range rounds {
				in.Send(i)
				want += i
				got, _ := out.Receive()
				assert.Equal(c.t, want, got)
			}
			done.Close()
		})
		c.wait()
		assert.Equal(c.t, rounds, sent)
		assert.Zero(c.t, in.Len()+out.Len())
	})
}

// A Select never meets itself, but may meet another Select.
func TestSelectMeetsAnother(t *testing.T) {
	eachCompany(t, func(c *company) {
		ch := fibersync.NewChannel[int](0)
		i, err := fibersync.TrySelect(ch.OnSend(1, nil), ch.OnReceive(nil))
		assert.Equal(c.t, []any{-1, nil}, []any{i, err})
		const clients = 6
		var sent, received atomic.Int64
		for p := range clients {
			c.start(func() {
				_, err := fibersync.Select(context.Background(),
					ch.OnSend(p, func() { sent.Add(1 << p) }),
					ch.OnReceive(func(v int, ok bool) {
						assert.True(c.t, ok && v != p, "client %d: %d %v", p, v, ok)
						received.Add(1 << v)
					}))
				assert.NoError(c.t, err)
			})
		}
		c.wait()
		assert.Equal(c.t, sent.Load(), received.Load())
	})
}

func TestSelectEndsWithItsContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		ch := fibersync.NewChannel[int](0)
		inVain(c, func(ctx context.Context) error {
			i, err := fibersync.Select(ctx, ch.OnSend(1, nil), new(fibersync.Channel[string]).OnReceive(nil))
			assert.Equal(c.t, -1, i)
			return err
		})
		inVain(c, func(ctx context.Context) error { _, err := fibersync.Select(ctx); return err })
		_, _, ready := ch.TryReceive()
		assert.False(c.t, ready, "a case that was not chosen has left its value behind")
	})
}

// Of two cases that are always possible both are taken. That one of them is not, in so many
// rounds, has a probability of 2 to the power of -200.
func TestSelectIsFair(t *testing.T) {
	a, b := fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)
	a.Close()
	b.Close()
	var taken [3]int
	for range 200 {
		i, err := fibersync.TrySelect(a.OnReceive(nil), new(fibersync.Channel[int]).OnReceive(nil), b.OnReceive(nil))
		require.NoError(t, err)
		taken[i]++
	}
	assert.NotZero(t, taken[0])
	assert.Zero(t, taken[1])
	assert.NotZero(t, taken[2])
}

func TestSelectMisuse(t *testing.T) {
	ch := fibersync.NewChannel[int](1)
	twice := ch.OnSend(1, nil)
	check.PanicsWith(t, fibersync.ErrCaseInUse, func() { _, _ = fibersync.TrySelect(twice, twice) })
	i, err := fibersync.TrySelect(twice)
	assert.Equal(t, []any{0, nil}, []any{i, err}, "the case is free again")
	ch.Receive()
	check.PanicsWith(t, fibersync.ErrNilCase, func() { _, _ = fibersync.Select(context.Background(), twice, nil) })
	i, err = fibersync.TrySelect(twice)
	assert.Equal(t, []any{0, nil}, []any{i, err}, "the case is free again")

	problem := ch.OnReceive(func(int, bool) { panic("oops") })
	assert.PanicsWithValue(t, "oops", func() { _, _ = fibersync.TrySelect(problem) })
	ch.Send(1)
	assert.PanicsWithValue(t, "oops", func() { _, _ = fibersync.TrySelect(problem) })
}
