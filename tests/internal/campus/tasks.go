package campus

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// stations makes each station of a campus.
var stations = []func(x *Campus) station{
	func(*Campus) station { return new(mutexStation) },
	func(x *Campus) station { return &rwmutexStation{x: x} },
	newSemaphoreStation,
	newCondStation,
	newEventStation,
	func(x *Campus) station { return &latchStation{x: x} },
	func(x *Campus) station { return &waitgroupStation{x: x} },
	func(x *Campus) station { return &barrierStation{x: x} },
	newOnceStation,
	newChannelStation,
	func(x *Campus) station { return &futureStation{x: x} },
	func(x *Campus) station { return &ticketStation{x: x} },
	func(x *Campus) station { return &callStation{x: x} },
	func(x *Campus) station { return &parallelStation{x: x} },
	newPoolStation,
	newHeapStation,
	newDAGStation,
	func(x *Campus) station { return &localStation{x: x} },
}

// latchStation: a waiter of a latch has seen the work of all that opened it.
type latchStation struct {
	x            *Campus
	opened, seen atomic.Int64
}

func (p *latchStation) enter(rng *rand.Rand) {
	n := 1 + rng.IntN(3)
	l := fibersync.NewLatch(n)
	for range n {
		p.x.beside(func() {
			p.opened.Add(1)
			l.CountDown()
		})
	}
	if ctx, cancel := hurry(rng); l.WaitContext(ctx) == nil {
		cancel()
	} else {
		cancel()
		l.Wait()
	}
	p.seen.Add(int64(n))
}

func (p *latchStation) check(t require.TestingT) {
	assert.Equal(t, p.opened.Load(), p.seen.Load(), "latches: counted down, and waited for")
}

const poolStationItems = 2

// poolStation: an item is one visitor's at a time, so what is done to the items without any lock adds
// up. They are all back in the end.
type poolStation struct {
	pool *fibersync.BoundedPool[int64]
	uses atomic.Int64
}

func newPoolStation(*Campus) station {
	return &poolStation{pool: fibersync.NewBoundedPool(poolStationItems, fibersync.Items[int64]{})}
}

func (p *poolStation) enter(rng *rand.Rand) {
	ctx, cancel := hurry(rng)
	defer cancel()
	loan, err := p.pool.BorrowContext(ctx)
	if err != nil {
		return
	}
	before := *loan.Get()
	dither(rng)
	*loan.Get() = before + 1
	p.uses.Add(1)
	loan.Return()
}

func (p *poolStation) check(t require.TestingT) {
	assert.Equal(t, poolStationItems, p.pool.Free(), "items that are back")
	sum := int64(0)
	for range poolStationItems {
		loan, ok := p.pool.TryBorrow()
		require.True(t, ok)
		sum += *loan.Get()
	}
	assert.Equal(t, p.uses.Load(), sum, "uses of a bounded pool's items")
}

// heapStation: an unbounded pool has all that it made in the end.
type heapStation struct {
	pool *fibersync.UnboundedPool[atomic.Int64]
	uses atomic.Int64
}

func newHeapStation(*Campus) station {
	return &heapStation{pool: fibersync.NewUnboundedPool(fibersync.Items[atomic.Int64]{})}
}

func (p *heapStation) enter(rng *rand.Rand) {
	loan := p.pool.Borrow()
	loan.Get().Add(1)
	p.uses.Add(1)
	dither(rng)
	loan.Return()
}

func (p *heapStation) check(t require.TestingT) {
	sum := int64(0)
	for range p.pool.Free() {
		loan, ok := p.pool.TryBorrow()
		require.True(t, ok)
		sum += loan.Get().Load()
	}
	assert.Equal(t, p.uses.Load(), sum, "uses of an unbounded pool's items")
}

// dagStation: many run one graph at the same time, and each run computes the same.
type dagStation struct {
	dag *fibersync.DAG[*[4]int]
	x   *Campus
}

func newDAGStation(x *Campus) station {
	var b fibersync.DAGBuilder[*[4]int]
	root := b.Node(func(v *[4]int) { v[0] = 1 })
	left := b.Node(func(v *[4]int) { pause(); v[1] = v[0] + 1 }, root)
	right := b.Node(func(v *[4]int) { v[2] = v[0] + 2 }, root)
	b.Node(func(v *[4]int) { v[3] = v[1] + v[2] }, left, right)
	d, err := b.Build()
	require.NoError(x.t, err)
	return &dagStation{dag: d, x: x}
}

func (p *dagStation) enter(rng *rand.Rand) {
	ctx, cancel := hurry(rng)
	defer cancel()
	var v [4]int
	if err := p.dag.RunContext(ctx, &v); err == nil {
		assert.Equal(p.x.t, 5, v[3])
	} else {
		assert.Zero(p.x.t, v[3], "a run that was broken off, with its last node run")
	}
}

func (p *dagStation) check(t require.TestingT) {
	var v [4]int
	p.dag.Run(&v)
	assert.Equal(t, [4]int{1, 2, 3, 5}, v)
}

// localStation: a task finds what it has set, and never what another has.
type localStation struct {
	x            *Campus
	own          fibersync.Local[uint64]
	begun, ended atomic.Int64
}

func (p *localStation) enter(rng *rand.Rand) {
	for p.begun.Load()-p.ended.Load() > 100 { // or a goroutine would start more than the workers end
		pause()
	}
	v := rng.Uint64()
	p.begun.Add(1)
	p.x.fiber(&p.x.parts, func() {
		_, set := p.own.Get()
		assert.False(p.x.t, set, "a value that was set by another task")
		p.own.Set(v)
		sched.Yield()
		got, _ := p.own.Get()
		assert.Equal(p.x.t, v, got)
		p.ended.Add(1)
	})
}

func (p *localStation) check(t require.TestingT) {
	assert.Equal(t, p.begun.Load(), p.ended.Load(), "tasks with values")
}
