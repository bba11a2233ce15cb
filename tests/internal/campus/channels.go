package campus

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// channelStation: what visitors send through two channels, one of them with a buffer, is what residents
// receive. Both sides use one channel at a time, or whichever is ready.
type channelStation struct {
	x              *Campus
	channels       [2]*fibersync.Channel[uint64]
	sent, received tally
	residents      *sync.WaitGroup
}

// tally is values: how many, and their sum.
type tally struct{ count, sum atomic.Uint64 }

func (l *tally) add(v uint64) {
	l.count.Add(1)
	l.sum.Add(v)
}

func newChannelStation(x *Campus) station {
	p := &channelStation{x: x}
	p.channels[0], p.channels[1] = fibersync.NewChannel[uint64](0), fibersync.NewChannel[uint64](8)
	seed := rand.Uint64()
	p.residents = x.reside(12, func(i int) {
		switch c := p.channels[i%2]; i / 2 % 3 {
		case 0:
			for v := range c.All() {
				p.received.add(v)
			}
		case 1:
			p.receiveInAHurry(rand.New(rand.NewPCG(seed, uint64(i))), c)
		case 2:
			p.receiveFromAny()
		}
	})
	return p
}

func (p *channelStation) receiveInAHurry(rng *rand.Rand, c *fibersync.Channel[uint64]) {
	for {
		ctx, cancel := hurry(rng)
		v, err := c.ReceiveContext(ctx)
		cancel()
		switch {
		case err == nil:
			p.received.add(v)
		case errors.Is(err, fibersync.ErrClosed):
			return
		}
	}
}

func (p *channelStation) receiveFromAny() {
	left := p.channels
	for left[0] != nil || left[1] != nil {
		receive := func(i int) fibersync.Case {
			return left[i].OnReceive(func(v uint64, ok bool) {
				if ok {
					p.received.add(v)
				} else {
					left[i] = nil
				}
			})
		}
		_, err := fibersync.Select(context.Background(), receive(0), receive(1))
		assert.NoError(p.x.t, err)
	}
}

func (p *channelStation) enter(rng *rand.Rand) {
	v := rng.Uint64()
	c := p.channels[rng.IntN(2)]
	sent := true
	switch rng.IntN(4) {
	case 0:
		sent = c.TrySend(v)
	case 1:
		c.Send(v)
	case 2:
		ctx, cancel := hurry(rng)
		defer cancel()
		sent = c.SendContext(ctx, v) == nil
	case 3:
		ctx, cancel := hurry(rng)
		defer cancel()
		called := 0
		_, err := fibersync.Select(
			ctx, p.channels[0].OnSend(v, func() { called++ }), p.channels[1].OnSend(v, func() { called++ }),
		)
		sent = err == nil
		assert.Equal(p.x.t, sent, called == 1, "%d cases took place, and the error is %v", called, err)
	}
	if sent {
		p.sent.add(v)
	}
}

func (p *channelStation) check(t require.TestingT) {
	for _, c := range p.channels {
		c.Close()
	}
	p.residents.Wait()
	assert.Equal(t, p.sent.count.Load(), p.received.count.Load(), "values")
	assert.Equal(t, p.sent.sum.Load(), p.received.sum.Load(), "sum of the values")
}
