package forkjoin

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/release"
)

// A list has the forks of one strand, the oldest first. The strand pushes and pops the newest, without a lock and
// without a fence. A thief, which is another strand, takes the oldest under the lock of the strand.
//
//	index   0    1    2    3    4
//	      ┌────┬────┬────┬────┬────┐
//	      │ j0 │ j1 │ a2 │ a3 │    │     j: has been taken, and is a job; a: no other strand knows of it
//	      └────┴────┴────┴────┴────┘
//	                  ↑         ↑
//	                taken      top
//
// Both must not take the last fork:
//
//	strand:  top = i           then load taken:  greater than i?  a thief may have fork i: look under the lock
//	thief:   taken = i+1       then load top:    not above i?     the strand may have fork i: take it back
//
// Each first writes and then reads, so one of them sees what the other has written, if no processor lets its load
// pass its store. That needs a fence on both sides. But a fence costs a strand more than the rest of a fork, and
// thieves are rare. So the thief has all processors that run threads of the process execute one (barrier), which
// takes it some microseconds. If the kernel has no such call, a strand pops under its lock.
type list interface {
	// ends returns where the list begins and ends.
	ends() *listEnds
	// job makes fork i, which the caller has taken, a job. The caller holds the lock of the strand.
	job(i int) *job
	// ticket returns the ticket of fork i, which is in the list; else any one. The caller holds the lock of the strand.
	ticket(i int) Ticket
}

// listEnds are the ends of a list. Only the strand writes top and last. Under Heartbeat only the holder of its lock
// writes taken; in the other forms only the strand does, without the lock.
type listEnds struct {
	top   atomic.Uint64 // how many forks are in the list
	taken atomic.Uint64 // how many of them have been taken: the oldest
	last  atomic.Uint64 // ticket of the fork that was made last: each is greater than those before
}

func (e *listEnds) ends() *listEnds { return e }

// set makes n the number of forks.
func (e *listEnds) set(n int) { release.Store(&e.top, uint64(n)) }

// pop removes the newest fork, of index i. It returns false if a thief may have taken it: then the strand looks
// under the lock.
func (e *listEnds) pop(i int) bool {
	e.set(i)
	return int(e.taken.Load()) <= i
}

// empty reports whether all forks have been taken, at some moment during the call.
func (e *listEnds) empty() bool { return e.taken.Load() >= e.top.Load() }

// next returns the ticket for a fork that is about to be made.
func (e *listEnds) next() Ticket {
	ticket := e.last.Load() + 1
	release.Store(&e.last, ticket)
	return Ticket(ticket)
}

// watch is what a drainer knows of the forks of other strands. A fork that its strand joins soon is not worth taking:
// both would pay more than the fork costs. So a drainer that has nothing better to do notices a list, and takes the
// oldest fork when that has been there for a beat.
type watch struct {
	patient bool          // the drainer will look again
	waits   bool          // in the present look, for forks to have been there for a beat
	beat    clock.Instant // how long a fork has to be there
	now     clock.Instant // when the present look began
	list    list          // that was noticed; nil: none
	newest  Ticket        // its newest fork then
	since   clock.Instant // when that was
	seen    bool          // the present look has found a fork of list that is no newer, and may not be taken yet
	other   list          // another one that the present look has found forks in
}

// begin begins a look at the lists of other strands. The drainer can wait if it will look again, and if forks are not
// known to be long.
func (w *watch) begin(long bool) {
	w.now, w.seen, w.other = clock.Now(), false, nil
	w.waits = w.patient && !long
}

// may reports whether the oldest fork of l may be taken. The caller holds the lock of the strand.
func (w *watch) may(l list) bool {
	e := l.ends()
	i := e.taken.Load()
	switch {
	case !w.waits:
		return true
	case i >= e.top.Load():
		return false
	case l != w.list || l.ticket(int(i)) > w.newest:
		w.other = l
		return false
	}
	w.seen = true
	return w.now-w.since >= w.beat
}

// end ends a look. If nothing of what was noticed is left, the drainer notices another list.
func (w *watch) end() {
	if w.seen {
		return
	}
	w.list, w.since = w.other, w.now
	if w.other != nil {
		w.newest = Ticket(w.other.ends().last.Load())
	}
}

// takeOldest takes the oldest fork of l, for the strand itself, or, if thief is set, for another one. It returns
// nil if there is none. The caller holds the lock of the strand.
func takeOldest(l list, thief bool) *job {
	e := l.ends()
	i := e.taken.Load()
	if i >= e.top.Load() {
		return nil
	}
	e.taken.Swap(i + 1)
	if thief && !(barrier() && i < e.top.Load()) {
		e.taken.Store(i)
		return nil
	}
	return l.job(int(i))
}

const (
	privateExpedited         = 8 // of membarrier(2)
	registerPrivateExpedited = 16
)

// hasBarrier reports whether barrier does without fences in the strands.
var hasBarrier = sync.OnceValue(func() bool {
	_, _, e := unix.RawSyscall(unix.SYS_MEMBARRIER, registerPrivateExpedited, 0, 0)
	return e == 0
})

// barrier is a fence on each processor that runs a thread of this process. It returns false if the kernel refuses
// the call, which it did not when it was asked first.
func barrier() bool {
	if !hasBarrier() {
		return true // strands have fences
	}
	_, _, e := unix.RawSyscall(unix.SYS_MEMBARRIER, privateExpedited, 0, 0)
	return e == 0
}

// forks is the list of Join, under Heartbeat.
type forks struct {
	listEnds
	strand *strand
	stack  []forked
}

// forked is a fork, and its ticket.
type forked struct {
	fork   fork
	ticket atomic.Uint64
}

// fork is the forked half of a Join: a waiting, or a *branch once it has been taken.
type fork interface{ branch() (fork, *job) }

// job implements list.
func (f *forks) job(i int) (j *job) {
	f.stack[i].fork, j = f.stack[i].fork.branch()
	return j
}

// ticket implements list.
func (f *forks) ticket(i int) Ticket { return Ticket(f.stack[i].ticket.Load()) }

// push adds x as fork i, the newest. The caller then looks whether a drainer is wanted.
func (f *forks) push(i int, x fork) {
	if i == len(f.stack) {
		f.strand.mu.Lock()
		f.stack = append(f.stack, make([]forked, max(i, firstSlots))...)
		f.strand.mu.Unlock()
	}
	at := &f.stack[i]
	at.fork = x
	release.Store(&at.ticket, uint64(f.next()))
	f.set(i + 1)
	if f.strand.fenced {
		f.strand.fence.Swap(0)
	}
}

// pop removes the newest fork, of index i. It returns the fork if it has been taken, and else nil.
func (f *forks) pop(i int) (taken fork) {
	if f.strand.fenced || !f.listEnds.pop(i) {
		taken = f.popLocked(i)
	}
	f.stack[i].fork = nil // for the collector
	return taken
}

func (f *forks) popLocked(i int) (taken fork) {
	f.strand.mu.Lock()
	defer f.strand.mu.Unlock()
	f.set(i)
	if int(f.taken.Load()) > i {
		taken = f.stack[i].fork
		f.taken.Store(uint64(i))
	}
	return taken
}

// cut removes the forks from i on, and returns them.
func (f *forks) cut(i int) (left []fork) {
	f.strand.mu.Lock()
	defer f.strand.mu.Unlock()
	for n := i; n < int(f.top.Load()); n++ {
		left = append(left, f.stack[n].fork)
		f.stack[n].fork = nil
	}
	f.set(i)
	f.taken.Store(min(f.taken.Load(), uint64(i)))
	return left
}

// take takes the oldest fork of s: for s, which is the caller, or, if by is not nil, for the caller, which is another
// strand and claims it. It returns nil if there is none, or none that by allows.
func (s *strand) take(by *watch) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lists {
		if by != nil && !by.may(l) {
			continue
		}
		if j := takeOldest(l, by != nil); j != nil {
			if by != nil {
				j.body.claim()
			}
			return j
		}
	}
	return nil
}

// hasForks reports whether there is a fork of s that has not been taken, at some moment during the call.
func (s *strand) hasForks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lists {
		if !l.ends().empty() {
			return true
		}
	}
	return false
}

// addList and dropList begin and end a list, which is the newest.
func (s *strand) addList(l list) {
	s.mu.Lock()
	s.lists = append(s.lists, l)
	s.mu.Unlock()
}

func (s *strand) dropList() {
	s.mu.Lock()
	last := len(s.lists) - 1
	s.lists[last] = nil
	s.lists = s.lists[:last]
	s.mu.Unlock()
}
