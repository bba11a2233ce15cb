package fiber

/*
#include "core.h"
*/
import "C"

import (
	"errors"
	"sync"
	"sync/atomic"

	"fiberlab/stack"
)

// DefaultMaxIdle is how many carriers of one kind, which is a backend, a size of stack and Go
// bodies or C bodies, idle in the pool at most, until Prewarm raises the bound.
const DefaultMaxIdle = 1024

// carriers is the process's pool of carriers. Idle ones are handed
// out last in, first out: what ran last is warmest.
var carriers pool

type pool struct {
	mu     sync.Mutex
	idle   map[kind]*idlers
	idling int         // of all kinds
	full   atomic.Bool // of coroutines, as many idle as may
	stacks map[stack.Options]*stack.Pool

	inUse, identities, stranded, roots atomic.Int64
}

// idlers are the idle carriers of one kind.
type idlers struct {
	carriers []*carrier
	most     int
}

// of returns the idlers of kind k. The caller holds mu.
func (p *pool) of(k kind) *idlers {
	idle := p.idle[k]
	if idle == nil {
		idle = &idlers{most: DefaultMaxIdle}
		if p.idle == nil {
			p.idle = make(map[kind]*idlers)
		}
		p.idle[k] = idle
	}
	return idle
}

// take returns a carrier of kind k that is at rest: an idle one, or a new one.
func (p *pool) take(k kind) (*carrier, error) {
	c := p.pop(k)
	if c == nil {
		var err error
		if c, err = p.make(k); err != nil {
			return nil, err
		}
	} else if k.body == cBody {
		if err := c.aim(); err != nil {
			return nil, errors.Join(err, c.scrap())
		}
	}
	p.inUse.Add(1)
	return c, nil
}

// pop returns an idle carrier of kind k, or nil.
func (p *pool) pop(k kind) *carrier {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[k]
	if idle == nil || len(idle.carriers) == 0 {
		return nil
	}
	last := len(idle.carriers) - 1
	c := idle.carriers[last]
	idle.carriers = idle.carriers[:last]
	p.count(k, -1)
	return c
}

// count notes that n more carriers of kind k idle. The caller holds mu.
func (p *pool) count(k kind, n int) {
	p.idling += n
	if k.backend != Goroutine {
		return
	}
	idle := p.of(k)
	if full := len(idle.carriers) >= idle.most; full != p.full.Load() {
		p.full.Store(full)
	}
}

// make returns a new carrier of kind k, without an identity yet.
func (p *pool) make(k kind) (*carrier, error) {
	if !k.backend.handSwitched() {
		return newCoroutine(k), nil
	}
	s, stacks, err := p.getStack(k.stack)
	if err != nil {
		return nil, err
	}
	c, err := newBlock(k)
	if err != nil {
		return nil, errors.Join(err, stacks.Put(s))
	}
	c.stack, c.stacks = s, stacks
	s.AskBeforeClear(c.whileVacant)
	b := c.block
	lo, hi := s.Guard()
	b.stack_lo, b.stack_hi = C.uintptr_t(s.Lo()), C.uintptr_t(s.Hi())
	b.guard_lo, b.guard_hi = C.uintptr_t(lo), C.uintptr_t(hi)
	if k.body == goBody {
		c.setBody(nil, nil)
	}
	if err := c.aim(); err != nil {
		return nil, errors.Join(err, c.scrap())
	}
	return c, nil
}

// aim points c's context at its beginning.
func (c *carrier) aim() error {
	mechanism := C.int(C.FIBERLAB_BY_ASM)
	if c.kind.backend == Ucontext {
		mechanism = C.FIBERLAB_BY_UCONTEXT
	}
	return switchErrors[C.fiberlab_block_aim(c.block, mechanism, C.uintptr_t(c.stack.Lo()), C.uintptr_t(c.stack.Top()))]
}

// getStack returns a stack with those options, and the pool it belongs to.
func (p *pool) getStack(o stack.Options) (*stack.Stack, *stack.Pool, error) {
	for {
		stacks, err := p.stackPool(o)
		if err != nil {
			return nil, nil, err
		}
		s, err := stacks.Get()
		if errors.Is(err, stack.ErrClosed) {
			continue // by Drain, meanwhile
		}
		return s, stacks, err
	}
}

func (p *pool) stackPool(o stack.Options) (*stack.Pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.stacks[o]; s != nil {
		return s, nil
	}
	s, err := stack.NewPool(o)
	if err != nil {
		return nil, err
	}
	if p.stacks == nil {
		p.stacks = make(map[stack.Options]*stack.Pool)
	}
	p.stacks[o] = s
	return s, nil
}

// keep takes back a carrier whose fiber is closed, and tells whether that is all that is to be
// done. It is not if the carrier can be ended, and the pool has no room for its kind:
// the caller must retire it then, which blocks.
func (p *pool) keep(c *carrier) bool {
	p.inUse.Add(-1)
	if c.kind.stack.ClearOnPut {
		c.stack.Zero(c.vacantBelow())
	}
	if c.co != nil && c.co.in == nil {
		return true // it has ended, or never begun
	}
	goexits := c.goexits.Load()
	if goexits >= mostGoexits {
		return true // neither can it be ended nor serve much longer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.of(c.kind)
	if len(idle.carriers) >= idle.most && goexits == 0 {
		return false
	}
	idle.carriers = append(idle.carriers, c)
	p.count(c.kind, 1)
	return true
}

// scrap gives back the stack and the control block of c, which is at rest and has
// no identity.
func (c *carrier) scrap() error {
	err := c.stacks.Put(c.stack)
	freeBlock(c)
	return err
}
