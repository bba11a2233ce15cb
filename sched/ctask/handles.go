package ctask

import (
	"runtime"
	"sync"
	"weak"

	"fiberlab/sched"
)

// handleTable has the handles of the fibers that C has asked for. It keeps no fiber
// alive: when one that has ended is collected, its handle goes from the table.
// Numbers are counted up and never used again.
type handleTable struct {
	mu     sync.Mutex
	last   uint64
	ids    map[weak.Pointer[sched.Fiber]]uint64
	fibers map[uint64]weak.Pointer[sched.Fiber]
}

var handles = handleTable{
	ids:    make(map[weak.Pointer[sched.Fiber]]uint64),
	fibers: make(map[uint64]weak.Pointer[sched.Fiber]),
}

// of returns the handle of f, which is the same at every call.
func (h *handleTable) of(f *sched.Fiber) uint64 {
	key := weak.Make(f)
	h.mu.Lock()
	defer h.mu.Unlock()
	id := h.ids[key]
	if id == 0 {
		h.last++
		id = h.last
		h.ids[key], h.fibers[id] = id, key
		runtime.AddCleanup(f, h.forget, id)
	}
	return id
}

// fiber returns the fiber that has the handle id, or nil if that was collected.
// issued is false if there has never been such a handle.
func (h *handleTable) fiber(id uint64) (f *sched.Fiber, issued bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fibers[id].Value(), id != 0 && id <= h.last
}

func (h *handleTable) forget(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ids, h.fibers[id])
	delete(h.fibers, id)
}
