package sched_test

import (
	"sync"

	"fiberlab/sched"
)

// pipe is a bounded queue. Each change wakes one fiber, the longest waiter,
// and no other.
type pipe struct {
	mu      sync.Mutex
	items   []uint64
	limit   int
	getters []*sched.Fiber
	putters []*sched.Fiber
}

// await blocks the caller until ready holds, as one of the waiting ones. The lock
// must be held.
func (p *pipe) await(waiting *[]*sched.Fiber, ready func() bool) {
	f := sched.Current()
	f.Wait(&p.mu, func() bool {
		at := -1
		for i, other := range *waiting {
			if other == f {
				at = i
			}
		}
		switch ok := ready(); {
		case ok && at >= 0:
			*waiting = append((*waiting)[:at], (*waiting)[at+1:]...)
			return true
		case !ok && at < 0:
			*waiting = append(*waiting, f)
			return false
		default:
			return ok
		}
	})
}

// wake notifies the longest waiter. The lock must be held.
func wake(waiting *[]*sched.Fiber) {
	if len(*waiting) > 0 {
		(*waiting)[0].Notify()
		*waiting = (*waiting)[1:]
	}
}

func (p *pipe) put(v uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.await(&p.putters, func() bool { return len(p.items) < p.limit })
	p.add(v)
}

// add is put for callers that must not block: it ignores the limit.
func (p *pipe) add(v uint64) {
	p.items = append(p.items, v)
	wake(&p.getters)
}

func (p *pipe) get() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.await(&p.getters, func() bool { return len(p.items) > 0 })
	v := p.items[0]
	p.items = p.items[1:]
	if len(p.items) < p.limit {
		wake(&p.putters)
	}
	return v
}
