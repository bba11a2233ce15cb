package tests

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
)

// Parties do selects at random over a few channels, sometimes cancelled: what was sent is
// received, once each, and nothing else.
func TestMixedSelectRandomPrograms(t *testing.T) {
	eachCompany(t, func(c *company) {
		random := newRand(c.t)
		for range 3 {
			p := newSelectProgram(random)
			for party := range 6 {
				seed := random.Uint64()
				c.start(func() { p.play(c.t, party, scaled(60, 15), rand.New(rand.NewPCG(seed, 0))) })
			}
			c.wait()
			for _, ch := range p.channels {
				ch.Close()
				for v := range ch.All() {
					p.received.add(v)
				}
			}
			sent, received := p.sent.all(), p.received.all()
			assert.Equal(c.t, len(sent), distinct(sent))
			assert.ElementsMatch(c.t, sent, received)
		}
	})
}

type selectProgram struct {
	channels       []*fibersync.Channel[channelValue]
	sent, received journal[channelValue]
}

func newSelectProgram(random *rand.Rand) *selectProgram {
	p := &selectProgram{}
	for range 1 + random.IntN(3) {
		p.channels = append(p.channels, fibersync.NewChannel[channelValue](random.IntN(3)))
	}
	return p
}

// play does so many selects. Their contexts bound the waits of those who have no partner left.
func (p *selectProgram) play(t *testing.T, party, times int, random *rand.Rand) {
	for n := range times {
		var cases []fibersync.Case
		fired := 0
		for range 1 + random.IntN(4) {
			ch := p.channels[random.IntN(len(p.channels))]
			v := channelValue{party, n*4 + len(cases)}
			if random.IntN(2) == 0 {
				cases = append(cases, ch.OnSend(v, func() {
					fired++
					p.sent.add(v)
				}))
			} else {
				cases = append(cases, ch.OnReceive(func(v channelValue, ok bool) {
					fired++
					assert.True(t, ok)
					p.received.add(v)
				}))
			}
		}
		var i int
		var err error
		if random.IntN(4) == 0 {
			i, err = fibersync.TrySelect(cases...)
			assert.NoError(t, err)
		} else {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(300))*time.Microsecond)
			i, err = fibersync.Select(ctx, cases...)
			cancel()
			assert.Equal(t, i < 0, err != nil)
		}
		assert.Equal(t, i >= 0, fired == 1, "index %d, and %d cases have been done", i, fired)
		if random.IntN(8) == 0 {
			pause()
		}
	}
}
