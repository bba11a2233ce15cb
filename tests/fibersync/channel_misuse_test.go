package fibersync_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/check"
)

func TestChannelTries(t *testing.T) {
	ch := fibersync.NewChannel[string](2)
	_, _, ready := ch.TryReceive()
	assert.False(t, ready, "an empty channel")
	assert.True(t, ch.TrySend("a"))
	assert.True(t, ch.TrySend("b"))
	assert.False(t, ch.TrySend("c"), "a full channel")
	assert.Equal(t, 2, ch.Len())
	assert.Equal(t, 2, ch.Cap())
	v, ok, ready := ch.TryReceive()
	assert.Equal(t, []any{"a", true, true}, []any{v, ok, ready})
	ch.Close()
	v, ok, ready = ch.TryReceive()
	assert.Equal(t, []any{"b", true, true}, []any{v, ok, ready})
	v, ok, ready = ch.TryReceive()
	assert.Equal(t, []any{"", false, true}, []any{v, ok, ready})
	assert.False(t, new(fibersync.Channel[int]).TrySend(1), "there is no receiver")
}

func TestChannelRangeCanBeLeft(t *testing.T) {
	ch := fibersync.NewChannel[int](4)
	for i := range 4 {
		ch.Send(i)
	}
	for v := range ch.All() {
		if v == 1 {
			break
		}
	}
	assert.Equal(t, 2, ch.Len())
}

func TestChannelMisuse(t *testing.T) {
	check.PanicsWith(t, fibersync.ErrNegative, func() { fibersync.NewChannel[int](-1) })
	ch := fibersync.NewChannel[int](1)
	ch.Close()
	check.PanicsWith(t, fibersync.ErrClosed, ch.Close)
	check.PanicsWith(t, fibersync.ErrClosed, func() { ch.Send(1) })
	check.PanicsWith(t, fibersync.ErrClosed, func() { ch.TrySend(1) })
	require.ErrorIs(t, ch.SendContext(context.Background(), 1), fibersync.ErrClosed)
	var none *fibersync.Channel[int]
	for _, f := range []func(){
		func() { none.Send(1) }, func() { none.TrySend(1) }, func() { none.Receive() }, func() { none.TryReceive() },
		none.Close, func() { none.Len() }, func() { none.Cap() },
	} {
		check.PanicsWith(t, fibersync.ErrNilChannel, f)
	}
}
