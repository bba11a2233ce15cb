package ctask

import (
	"runtime"
	"sync"
	"weak"

	"fiberlab/sched"
)

// handleTable maps the fibers that C has asked for to handles and back. It keeps no fiber
// alive: when a fiber is garbage-collected, its entry is removed. A number is
// never used twice.
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

// of returns the handle of f, the same at every call.
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

// fiber returns the fiber with the handle id, or nil if it was garbage-collected.
// issued is false if no fiber ever had that handle.
func (h *handleTable) fiber(id uint64) (f *sched.Fiber, issued bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fibers[id].Value(), id != 0 && id <= h.last
}

// forget removes the entry of a fiber that was garbage-collected.
func (h *handleTable) forget(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ids, h.fibers[id])
	delete(h.fibers, id)
}
