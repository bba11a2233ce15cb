package campus

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// waitgroupStation: a waiter of a group has seen the work of all in it.
type waitgroupStation struct {
	x     *Campus
	begun atomic.Int64
	seen  atomic.Int64
}

func (p *waitgroupStation) enter(rng *rand.Rand) {
	var group fibersync.WaitGroup
	var done [3]bool
	n := 1 + rng.IntN(len(done))
	for i := range n {
		group.Go(func() {
			p.begun.Add(1)
			done[i] = true
		})
	}
	ctx, cancel := hurry(rng)
	defer cancel()
	if group.WaitContext(ctx) != nil {
		group.Wait()
	}
	for i := range n {
		assert.True(p.x.t, done[i], "the group's Wait returned too early")
	}
	p.seen.Add(int64(n))
}

func (p *waitgroupStation) check(t require.TestingT) {
	assert.Equal(t, p.begun.Load(), p.seen.Load(), "work of groups")
}

// barrierStation: no visitor leaves a phase before all have come, and each has a different number.
type barrierStation struct {
	x     *Campus
	comes atomic.Int64
	goes  [3]atomic.Int64 // by number
}

func (p *barrierStation) enter(rng *rand.Rand) {
	const phases = 2
	clients := len(p.goes)
	barrier := fibersync.NewBarrier(clients)
	var come [phases]atomic.Int64
	walk := func(rng *rand.Rand) {
		for phase := range phases {
			come[phase].Add(1)
			p.comes.Add(1)
			ctx, cancel := hurry(rng)
			i, err := barrier.WaitContext(ctx)
			cancel()
			if err != nil {
				i = barrier.Wait()
			}
			assert.EqualValues(p.x.t, clients, come[phase].Load(), "a phase ended too early")
			p.goes[i].Add(1)
		}
	}
	for range clients - 1 {
		seed := rng.Uint64()
		p.x.beside(func() { walk(rand.New(rand.NewPCG(seed, 0))) })
	}
	walk(rng)
}

func (p *barrierStation) check(t require.TestingT) {
	for i := range p.goes {
		assert.Equal(t, p.comes.Load()/int64(len(p.goes)), p.goes[i].Load(), "clients with the number %d", i)
	}
}

// onceStation: each visitor that does something once finds it done, and done once.
type onceStation struct {
	x       *Campus
	current atomic.Pointer[onceDeed]
}

type onceDeed struct {
	once fibersync.Once
	done int
}

func newOnceStation(x *Campus) station {
	p := &onceStation{x: x}
	p.current.Store(new(onceDeed))
	return p
}

func (p *onceStation) enter(rng *rand.Rand) {
	ctx, cancel := hurry(rng)
	defer cancel()
	deed := p.current.Load()
	err := deed.once.DoContext(ctx, func() {
		dither(rng)
		deed.done++
	})
	if err == nil {
		assert.Equal(p.x.t, 1, deed.done)
	}
	if rng.IntN(10) == 0 {
		p.current.CompareAndSwap(deed, new(onceDeed))
	}
}

func (p *onceStation) check(t require.TestingT) {
	deed := p.current.Load()
	deed.once.Do(func() { deed.done++ })
	assert.Equal(t, 1, deed.done)
}
