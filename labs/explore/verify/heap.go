package verify

import (
	"bytes"
	"slices"

	"fiberlab/labs/explore"
)

// heap has the blocks of malloc at the addresses that the runtime would give them. None is used twice in a schedule.
type heap struct {
	region
	used   uint64 // units
	blocks []block
}

type block struct {
	region
	freed bool
}

const (
	unit       = 16
	heapSize   = 1 << 22
	runtimeMap = 1 << 28 // the runtime's memory, from its state on
)

func newHeap(address uint64) heap { return heap{region: region{address, heapSize}, used: 1} }

// block returns the block that an address is in, or nil.
func (h *heap) block(address uint64) *block {
	for i := range h.blocks {
		if b := &h.blocks[i]; address >= b.address && address < b.address+(max(b.size, 1)+unit-1)/unit*unit {
			return b
		}
	}
	return nil
}

// allocate makes a block whose bytes are fill.
func (e *execution) allocate(size, alignment uint64, fill byte) (uint64, error) {
	h := &e.heap
	step := max(alignment/unit, 1)
	first := (h.used + step) / step * step
	units := max((size+unit-1)/unit, 1)
	if size > heapSize || first+units >= heapSize/unit {
		return 0, e.fault("limit", "The program allocates more than %d bytes a schedule.", heapSize)
	}
	h.used = first + units
	b := block{region: region{h.address + first*unit, size}}
	h.blocks = append(h.blocks, b)
	return b.address, wild(e.Write(b.address, bytes.Repeat([]byte{fill}, int(size))))
}

// checkHeap is a fault if an access touches memory that is not allocated, or is the runtime's or the test's alone.
func (e *execution) checkHeap(t *thread, address, size uint64) error {
	if own := (region{e.engine, runtimeMap}); own.overlaps(address, size) {
		return e.fault(Tampering, "Thread %d accesses the explorer's data.", t.number)
	}
	for _, v := range e.variables {
		if v.overlaps(address, size) {
			return e.fault(Tampering, "Thread %d accesses the explorer's data.", t.number)
		}
	}
	for _, v := range e.ofTest {
		if v.overlaps(address, size) && !e.inTest(t.pc) {
			return e.fault(Tampering, "Thread %d accesses %s, which is the test's.", t.number, v.name)
		}
	}
	if !e.heap.has(address) {
		return nil
	}
	b := e.heap.block(address)
	switch {
	case b != nil && !b.freed && address+size <= b.address+b.size:
		return nil
	case b != nil && b.freed:
		e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "read"})
		return e.fault("use-after-free", "Thread %d uses memory that was freed: byte %d of a block of %d.", t.number,
			address-b.address, b.size)
	}
	e.step(explore.Step{Thread: t.number, PC: explore.Address(t.pc), Op: "read"})
	return e.fault("crash", "Thread %d uses memory that is neither a variable nor a block from malloc.", t.number)
}

// release frees a block.
func (e *execution) release(t *thread, address uint64) error {
	s := explore.Step{
		Thread: t.number, PC: explore.Address(t.pc), Op: "free", Address: explore.Address(address),
	}
	i := slices.IndexFunc(e.heap.blocks, func(b block) bool { return b.address == address })
	if i < 0 {
		e.step(s)
		return e.fault("crash", "Thread %d frees what malloc did not return.", t.number)
	}
	b := &e.heap.blocks[i]
	s.Size = int(b.size)
	if b.freed {
		e.step(s)
		return e.fault("double-free", "Thread %d frees memory that was freed already.", t.number)
	}
	if err := e.plain(t, address, b.size, true); err != nil {
		return err
	}
	e.step(s)
	b.freed = true
	return nil
}
