package stack

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
)

// mapped lists every slab of every pool by ascending address. Writers replace
// the slice under mappedMu; a slice once stored never changes, so that Owner
// needs no lock.
var (
	mapped   atomic.Pointer[[]*slab]
	mappedMu sync.Mutex
)

// Owner returns the stack whose guard contains addr. A stack in a pool keeps its
// guard until its slab is unmapped. Owner takes no lock and does
// not allocate, so Go code may call it at any time.
func Owner(addr uintptr) (*Stack, bool) {
	list := mapped.Load()
	if list == nil {
		return nil, false
	}
	slabs := *list
	after := sort.Search(len(slabs), func(i int) bool { return slabs[i].base() > addr })
	if after == 0 {
		return nil, false
	}
	return slabs[after-1].owner(addr)
}

// owner returns the stack of s whose guard contains addr, which is not below s.
func (s *slab) owner(addr uintptr) (*Stack, bool) {
	offset := addr - s.base()
	if offset >= s.length || offset%s.stride >= s.pool.guardSize {
		return nil, false
	}
	st := &s.stacks[offset/s.stride]
	if !st.guarded.Load() {
		return nil, false
	}
	return st, true
}

// publish makes the guards of s known to Owner.
func publish(s *slab) {
	replaceMapped(func(slabs []*slab) []*slab {
		at := sort.Search(len(slabs), func(i int) bool { return slabs[i].base() > s.base() })
		return slices.Insert(slabs, at, s)
	})
}

// retract undoes publish. It comes before the addresses of s are given back,
// as they may be mapped again at once.
func retract(s *slab) {
	replaceMapped(func(slabs []*slab) []*slab {
		return slices.DeleteFunc(slabs, func(other *slab) bool { return other == s })
	})
}

// replaceMapped stores what change makes of a private copy of the list.
func replaceMapped(change func([]*slab) []*slab) {
	mappedMu.Lock()
	defer mappedMu.Unlock()
	var slabs []*slab
	if list := mapped.Load(); list != nil {
		slabs = slices.Clone(*list)
	}
	slabs = change(slabs)
	mapped.Store(&slabs)
}
