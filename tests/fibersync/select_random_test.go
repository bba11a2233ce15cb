package fibersync_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched/fibersync"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Clients select at random over a few channels, and some are cancelled. Each value that was sent is received once, and
// no other value is received.
func TestSelectRandomPrograms(t *testing.T) {
	eachCompany(t, func(c *company) {
		random := suite.NewRand(c.t)
		for range 3 {
			p := newSelectProgram(random)
			for client := range 6 {
				seed := random.Uint64()
				c.start(func() { p.play(c.t, client, suite.Scaled(60, 15), rand.New(rand.NewPCG(seed, 0))) })
			}
			c.wait()
			for _, ch := range p.channels {
				ch.Close()
				for v := range ch.All() {
					p.received.Add(v)
				}
			}
			sent, received := p.sent.All(), p.received.All()
			assert.Equal(c.t, len(sent), schedtest.Distinct(sent))
			assert.ElementsMatch(c.t, sent, received)
		}
	})
}

type selectProgram struct {
	channels       []*fibersync.Channel[channelValue]
	sent, received schedtest.Journal[channelValue]
}

func newSelectProgram(random *rand.Rand) *selectProgram {
	p := &selectProgram{}
	for range 1 + random.IntN(3) {
		p.channels = append(p.channels, fibersync.NewChannel[channelValue](random.IntN(3)))
	}
	return p
}

// play does so many selects. Their contexts bound the waits of clients that have no partner left.
func (p *selectProgram) play(t *testing.T, client, times int, random *rand.Rand) {
	for n := range times {
		var cases []fibersync.Case
		fired := 0
		for range 1 + random.IntN(4) {
			ch := p.channels[random.IntN(len(p.channels))]
			v := channelValue{client, n*4 + len(cases)}
			if random.IntN(2) == 0 {
				cases = append(cases, ch.OnSend(v, func() {
					fired++
					p.sent.Add(v)
				}))
			} else {
				cases = append(cases, ch.OnReceive(func(v channelValue, ok bool) {
					fired++
					assert.True(t, ok)
					p.received.Add(v)
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
