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

// DefaultMaxIdle is how many runners of one kind the pool keeps at most, until Prewarm raises the
// limit. A kind is a backend, the options of the C stack, and whether bodies are Go or C.
const DefaultMaxIdle = 1024

// runners is the process's pool of runners. Idle ones are handed
// out last in, first out: the runner that was used last is most likely cached.
var runners pool

type pool struct {
	mu     sync.Mutex
	idle   map[kind]*idleRunners
	idling int         // of all kinds
	full   atomic.Bool // no more coroutines are kept
	stacks map[stack.Options]*stack.Pool

	inUse, identities, stranded, roots atomic.Int64

	draining sync.Mutex // held by drain: none comes back while another one has runners in hand

	lastDetach atomic.Int64 // when the last root was detached, by monotonic
	timerSet   atomic.Bool  // a timer is set for drainIdle
}

// idleRunners are the idle runners of one kind.
type idleRunners struct {
	runners   []*runner
	most      int // as many are kept
	prewarmed int // as many stay when the pool is drained because there are no roots
}

// of returns the idleRunners of kind k. The caller holds mu.
func (p *pool) of(k kind) *idleRunners {
	idle := p.idle[k]
	if idle == nil {
		idle = &idleRunners{most: DefaultMaxIdle}
		if p.idle == nil {
			p.idle = make(map[kind]*idleRunners)
		}
		p.idle[k] = idle
	}
	return idle
}

// take returns a runner of kind k on which nothing runs: an idle one, or a new one.
func (p *pool) take(k kind) (*runner, error) {
	r := p.pop(k)
	if r == nil {
		var err error
		if r, err = p.make(k); err != nil {
			return nil, err
		}
	} else if k.body == cBody {
		if err := r.aim(); err != nil {
			return nil, errors.Join(err, r.free())
		}
	}
	p.inUse.Add(1)
	return r, nil
}

// pop returns an idle runner of kind k, or nil.
func (p *pool) pop(k kind) *runner {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.idle[k]
	if idle == nil || len(idle.runners) == 0 {
		return nil
	}
	last := len(idle.runners) - 1
	r := idle.runners[last]
	idle.runners = idle.runners[:last]
	p.count(k, -1)
	return r
}

// count records that n more runners of kind k are idle. The caller holds mu.
func (p *pool) count(k kind, n int) {
	p.idling += n
	if k.backend != Goroutine {
		return
	}
	idle := p.of(k)
	if full := len(idle.runners) >= idle.most; full != p.full.Load() {
		p.full.Store(full)
	}
}

// make returns a new runner of kind k, without an identity yet.
func (p *pool) make(k kind) (*runner, error) {
	if !k.backend.handSwitched() {
		return newCoroutine(k), nil
	}
	s, stacks, err := p.getStack(k.stack)
	if err != nil {
		return nil, err
	}
	r, err := newBlock(k)
	if err != nil {
		return nil, errors.Join(err, stacks.Put(s))
	}
	r.stack, r.stacks = s, stacks
	b := r.block
	lo, hi := s.Guard()
	b.stack_lo, b.stack_hi = C.uintptr_t(s.Lo()), C.uintptr_t(s.Hi())
	b.guard_lo, b.guard_hi = C.uintptr_t(lo), C.uintptr_t(hi)
	if k.body == goBody {
		r.setBody(nil, nil)
	}
	if err := r.aim(); err != nil {
		return nil, errors.Join(err, r.free())
	}
	return r, nil
}

// aim points r's context at its beginning.
func (r *runner) aim() error {
	mechanism := C.int(C.FIBERLAB_BY_ASM)
	if r.kind.backend == Ucontext {
		mechanism = C.FIBERLAB_BY_UCONTEXT
	}
	return switchErrors[C.fiberlab_block_aim(r.block, mechanism, C.uintptr_t(r.stack.Lo()), C.uintptr_t(r.stack.Top()))]
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
			continue // Drain has closed it meanwhile
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

// keep takes back a runner whose fiber is closed. It returns false if the pool has no room for its
// kind and the runner can be ended: the caller must retire it then, which blocks.
func (p *pool) keep(r *runner) bool {
	p.inUse.Add(-1)
	if r.kind.stack.ClearOnPut {
		r.stack.Zero(r.unusedBelow())
	}
	if r.co != nil && r.co.in == nil {
		return true // it has ended, or never begun
	}
	goexits := r.goexits.Load()
	if goexits >= maxGoexits {
		return true // neither can it be ended nor serve much longer
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.of(r.kind)
	if len(idle.runners) >= idle.most && goexits == 0 {
		return false
	}
	idle.runners = append(idle.runners, r)
	p.count(r.kind, 1)
	return true
}

// restore puts runners back that were taken out of the pool to be ended.
func (p *pool) restore(rs []*runner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rs {
		idle := p.of(r.kind)
		idle.runners = append(idle.runners, r)
		p.count(r.kind, 1)
	}
}

// free gives back the stack and the control block of r, on which nothing runs and which has
// no identity.
func (r *runner) free() error {
	err := r.stacks.Put(r.stack)
	freeBlock(r)
	return err
}
