package fiber

import (
	"sync"
	"sync/atomic"
)

// goroutines finds the runner of a goroutine by the address of its g. Only the
// Goroutine backend needs it: a hand-switched fiber is found by its thread.
var goroutines goroutineTable

// goroutineTable is a hash table with open addressing. Lookups take no lock: a
// goroutine looks up itself, or another one of which it has learnt after its insertion.
type goroutineTable struct {
	slots atomic.Pointer[[]goroutineSlot] // a power of two of them

	mu   sync.Mutex
	used int // slots that have a key, live or not
	live int
}

// goroutineSlot keeps its key when it is emptied, or later keys that collided
// with it would be lost. The runtime reuses the gs, so such slots are soon refilled.
type goroutineSlot struct {
	g atomic.Uintptr
	r atomic.Pointer[runner]
}

const smallestTable = 64

// slotOf returns the slot of key g, or the empty slot where it would go.
func slotOf(slots []goroutineSlot, g uintptr) *goroutineSlot {
	mask := uint64(len(slots) - 1)
	for i := (uint64(g) * 0x9e3779b97f4a7c15) >> 32; ; i++ {
		s := &slots[i&mask]
		if key := s.g.Load(); key == g || key == 0 {
			return s
		}
	}
}

// unused reports whether nothing has been inserted since the last release that found the table empty.
func (t *goroutineTable) unused() bool { return t.slots.Load() == nil }

func (t *goroutineTable) lookup(g uintptr) *runner {
	slots := t.slots.Load()
	if slots == nil {
		return nil
	}
	s := slotOf(*slots, g)
	if s.g.Load() != g {
		return nil // a value that is there already belongs to another key, which is being inserted
	}
	return s.r.Load()
}

func (t *goroutineTable) insert(g uintptr, r *runner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserve()
	s := slotOf(*t.slots.Load(), g)
	if s.g.Load() == 0 {
		t.used++
	}
	// The value first: a lookup that finds the key finds its value.
	if s.r.Swap(r) == nil {
		t.live++
	}
	s.g.Store(g)
}

func (t *goroutineTable) remove(g uintptr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slotOf(*t.slots.Load(), g).r.Swap(nil) != nil {
		t.live--
	}
}

// reserve makes sure that at least half of the slots have no key. The caller holds mu.
func (t *goroutineTable) reserve() {
	if old := t.slots.Load(); old == nil || 2*(t.used+1) > len(*old) {
		t.rebuild()
	}
}

// release gives back slots that were needed once.
func (t *goroutineTable) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch old := t.slots.Load(); {
	case old == nil:
	case t.live == 0:
		t.slots.Store(nil)
		t.used = 0
	case len(*old) > max(smallestTable, 16*t.live):
		t.rebuild()
	}
}

// rebuild makes the table large enough for what is in it, and drops keys without values. The caller holds mu.
func (t *goroutineTable) rebuild() {
	size := smallestTable
	for size < 4*(t.live+1) {
		size *= 2
	}
	slots := make([]goroutineSlot, size)
	t.used = 0
	if old := t.slots.Load(); old != nil {
		for i := range *old {
			from := &(*old)[i]
			if r := from.r.Load(); r != nil {
				to := slotOf(slots, from.g.Load())
				to.r.Store(r)
				to.g.Store(from.g.Load())
				t.used++
			}
		}
	}
	t.slots.Store(&slots)
}
