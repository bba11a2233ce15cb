package fibersync_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/suite"
)

func TestChannelWaitsEndWithTheirContext(t *testing.T) {
	eachCompany(t, func(c *company) {
		empty, full := fibersync.NewChannel[int](0), fibersync.NewChannel[int](1)
		full.Send(1)
		inVain(c, func(ctx context.Context) error { _, err := empty.ReceiveContext(ctx); return err })
		ctx := inVain(c, func(ctx context.Context) error { return full.SendContext(ctx, 2) })
		assert.Equal(c.t, 1, full.Len())
		v, err := full.ReceiveContext(ctx)
		require.NoError(c.t, err, "what is possible at once is done even if the context is over")
		assert.Equal(c.t, 1, v)
		require.NoError(c.t, full.SendContext(ctx, 3))
	})
}

// Cancelling and handing over race: what a sender was told has been sent is received, and
// nothing else is.
func TestChannelStormOfCancels(t *testing.T) {
	eachCompany(t, func(c *company) {
		for range suite.Scaled(40, 8) {
			for capacity := range 2 {
				ch := fibersync.NewChannel[int](capacity)
				ctx, cancel := context.WithCancel(context.Background())
				var sent, received, wrong atomic.Int64
				for v := 1; v <= 3; v++ {
					c.start(func() {
						if err := ch.SendContext(ctx, v); err == nil {
							sent.Add(int64(v))
						} else if err != context.Canceled {
							wrong.Add(1)
						}
					})
					c.start(func() {
						if v, err := ch.ReceiveContext(ctx); err == nil {
							received.Add(int64(v))
						} else if v != 0 || err != context.Canceled {
							wrong.Add(1)
						}
					})
				}
				c.start(cancel)
				c.wait()
				for v, _, ready := ch.TryReceive(); ready; v, _, ready = ch.TryReceive() {
					received.Add(int64(v))
				}
				assert.Equal(c.t, sent.Load(), received.Load())
				assert.Zero(c.t, wrong.Load())
			}
		}
	})
}
