package campus

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

const condStationRoom = 4

// condStation: what visitors put into a small buffer, waiting for room, is what residents take out of it.
type condStation struct {
	x          *Campus
	mu         fibersync.Mutex
	filled     *fibersync.Cond
	emptied    *fibersync.Cond
	buffer     []uint64
	closed     bool
	put, taken atomic.Uint64
	residents  *sync.WaitGroup
}

func newCondStation(x *Campus) station {
	p := &condStation{x: x}
	p.filled, p.emptied = fibersync.NewCond(&p.mu), fibersync.NewCond(&p.mu)
	p.residents = x.reside(9, func(int) {
		for p.take() {
		}
	})
	return p
}

func (p *condStation) enter(rng *rand.Rand) {
	v := rng.Uint64()
	ctx, cancel := hurry(rng)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.emptied.AwaitContext(ctx, func() bool { return len(p.buffer) < condStationRoom }) != nil {
		return
	}
	p.put.Add(v)
	p.buffer = append(p.buffer, v)
	p.filled.Signal()
}

// take takes a value, or returns false if there will be none.
func (p *condStation) take() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) == 0 {
		if p.closed {
			return false
		}
		p.filled.Wait()
	}
	p.taken.Add(p.buffer[0])
	p.buffer = p.buffer[1:]
	p.emptied.Signal()
	return true
}

func (p *condStation) check(t require.TestingT) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.filled.Broadcast()
	p.residents.Wait()
	assert.Equal(t, p.put.Load(), p.taken.Load(), "sums of what was put and taken")
}

// eventStation: the signal of an event is a token, and only its holder counts.
type eventStation struct {
	tokens [2]*fibersync.Event
	counts [2]int64
	uses   atomic.Int64
}

func newEventStation(*Campus) station {
	p := new(eventStation)
	for i := range p.tokens {
		p.tokens[i] = fibersync.NewEvent(fibersync.AutoReset, true)
	}
	return p
}

func (p *eventStation) enter(rng *rand.Rand) {
	ctx, cancel := hurry(rng)
	defer cancel()
	i := rng.IntN(len(p.tokens))
	var err error
	switch rng.IntN(4) {
	case 0:
		if !p.tokens[i].Test() {
			return
		}
	case 1:
		i, err = fibersync.WaitAnyContext(ctx, p.tokens[:]...)
	default:
		err = p.tokens[i].WaitContext(ctx)
	}
	if err != nil {
		return
	}
	before := p.counts[i]
	dither(rng)
	p.counts[i] = before + 1
	p.uses.Add(1)
	p.tokens[i].Signal()
}

func (p *eventStation) check(t require.TestingT) {
	for _, token := range p.tokens {
		assert.True(t, token.IsSignalled(), "the signal is lost")
	}
	assert.Equal(t, p.uses.Load(), p.counts[0]+p.counts[1], "times that a signal was taken")
}
