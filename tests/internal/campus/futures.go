package campus

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched/fibersync"
)

// futureStation: a future gives what was promised, also after a wait for it was given up.
type futureStation struct {
	x             *Campus
	promised, got atomic.Uint64
}

func (p *futureStation) enter(rng *rand.Rand) {
	a, b := rng.Uint64(), rng.Uint64()
	p.promised.Add(a + b)
	var promise fibersync.Promise[uint64]
	p.x.beside(func() { promise.Set(a) })
	async := fibersync.Async(func() (uint64, error) { return b, nil })
	ctx, cancel := hurry(rng)
	defer cancel()
	for _, f := range []*fibersync.Future[uint64]{promise.Future(), async} {
		value, err := f.GetContext(ctx)
		if err != nil {
			value, err = f.Get()
		}
		assert.NoError(p.x.t, err)
		p.got.Add(value)
	}
}

func (p *futureStation) check(t require.TestingT) {
	assert.Equal(t, p.promised.Load(), p.got.Load(), "sum of the futures' values")
}

// ticketStation: tickets are called in the order in which they were taken, one at a time.
type ticketStation struct {
	x      *Campus
	queue  fibersync.TicketQueue
	mu     sync.Mutex // of taking a ticket and its number
	taken  int64
	called int64 // the callee has it
}

func (p *ticketStation) enter(rng *rand.Rand) {
	p.mu.Lock()
	ticket, number := p.queue.Take(), p.taken
	p.taken++
	p.mu.Unlock()
	turn := func() {
		assert.Equal(p.x.t, number, p.called, "out of turn")
		p.called++
		pause()
		ticket.Done()
	}
	if rng.IntN(3) == 0 {
		p.x.parts.Add(1)
		ticket.OnCall(func() {
			defer p.x.parts.Done()
			turn()
		})
		return
	}
	ctx, cancel := hurry(rng)
	defer cancel()
	if ticket.WaitContext(ctx) != nil {
		ticket.Wait() // it has kept its place
	}
	turn()
}

func (p *ticketStation) check(t require.TestingT) {
	last := p.queue.Take()
	last.Wait()
	assert.Equal(t, p.taken, p.called, "tickets")
	last.Done()
}

// callStation: a call that blocks its thread returns what the function did.
type callStation struct {
	x             *Campus
	asked, called atomic.Int64
}

func (p *callStation) enter(rng *rand.Rand) {
	v := rng.Uint64()
	d := time.Duration(rng.IntN(50)) * time.Microsecond
	f := func() (uint64, error) {
		time.Sleep(d)
		p.called.Add(1)
		return v, nil
	}
	ctx, cancel := hurry(rng)
	defer cancel()
	if got, err := fibersync.CallContext(ctx, f); err == nil {
		assert.Equal(p.x.t, v, got)
	}
	p.asked.Add(1)
	got, err := fibersync.Call(f)
	assert.NoError(p.x.t, err)
	assert.Equal(p.x.t, v, got)
}

func (p *callStation) check(t require.TestingT) {
	assert.GreaterOrEqual(t, p.called.Load(), p.asked.Load(), "calls")
}

// parallelStation: all branches of a fork have been done when it returns.
type parallelStation struct {
	x          *Campus
	done, seen atomic.Int64
}

func (p *parallelStation) enter(rng *rand.Rand) {
	var leaves [6]bool
	leaf := func(i int) func() {
		return func() {
			leaves[i] = true
			p.done.Add(1)
		}
	}
	branch := func(i int) func() { return func() { fibersync.Parallelize(leaf(i), leaf(i+1), leaf(i+2)) } }
	fibersync.Parallelize(branch(0), branch(3))
	for i := range leaves {
		assert.True(p.x.t, leaves[i], "a branch was not done when the fork returned")
	}
	p.seen.Add(int64(len(leaves)))
	dither(rng)
}

func (p *parallelStation) check(t require.TestingT) {
	assert.Equal(t, p.done.Load(), p.seen.Load(), "branches")
}
