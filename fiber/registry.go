package fiber

/*
#include "core.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// registry numbers the control blocks, so that C and assembly can name a runner
// without holding a Go pointer. Numbers begin at 1; 0 stands for none.
//
// A block's addresses stay valid until the process ends: a switch to a Fiber that was closed long ago must
// find a generation that is not the Fiber's. Blocks are reused instead, so there are as many as there were
// fibers at once; the pages of unused blocks can be given back.
var registry = blocks{slabs: slabs{size: (C.sizeof_struct_fiberlab_fiber + 63) &^ 63}}

const chunkSize = 1024

type blocks struct {
	chunks atomic.Pointer[[]*[chunkSize]atomic.Pointer[runner]]

	mu       sync.Mutex
	slabs    slabs
	youngest uint64 // generation of a block whose pages were given back
}

// at returns the runner of the block with that index, which must be in use. Lock-free.
func (b *blocks) at(index uintptr) *runner {
	return (*b.chunks.Load())[index/chunkSize][index%chunkSize].Load()
}

// newBlock returns a runner of kind k that has a control block and nothing else.
func newBlock(k kind) (*runner, error) {
	b := &registry
	b.mu.Lock()
	defer b.mu.Unlock()
	memory, number, _ := b.slabs.take()
	if memory == nil {
		return nil, ErrNoMemory
	}
	block := (*C.struct_fiberlab_fiber)(memory)
	block.index = C.uint32_t(number + 1)
	r := &runner{kind: k, block: block, state: (*atomic.Uint64)(unsafe.Pointer(&block.state))}
	if r.state.Load() < b.youngest {
		r.state.Store(b.youngest)
	}
	b.set(uintptr(block.index), r)
	return r, nil
}

// set makes r the runner of that index. The caller holds mu.
func (b *blocks) set(index uintptr, r *runner) {
	var chunks []*[chunkSize]atomic.Pointer[runner]
	if p := b.chunks.Load(); p != nil {
		chunks = *p
	}
	if index/chunkSize >= uintptr(len(chunks)) {
		grown := append(chunks[:len(chunks):len(chunks)], new([chunkSize]atomic.Pointer[runner]))
		b.chunks.Store(&grown)
		chunks = grown
	}
	chunks[index/chunkSize][index%chunkSize].Store(r)
}

// freeBlock takes back the control block of r, which is Closed and on which nothing runs.
func freeBlock(r *runner) {
	C.fiberlab_block_free(r.block)
	b := &registry
	b.mu.Lock()
	defer b.mu.Unlock()
	index := uintptr(r.block.index)
	b.set(index, nil)
	b.slabs.put(uint32(index - 1))
}

// release gives back the pages of blocks that are not in use. With them goes the generation of each: later
// fibers begin with a generation that none of these had.
func (b *blocks) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slabs.release(func(element unsafe.Pointer) {
		state := (*atomic.Uint64)(unsafe.Pointer(&(*C.struct_fiberlab_fiber)(element).state))
		b.youngest = max(b.youngest, state.Load()&^stateMask)
	})
}
