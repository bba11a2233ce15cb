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

// registry numbers the control blocks, so that C and assembly can name a carrier
// without holding a Go pointer. Numbers begin at 1; 0 stands for none.
//
// A block's memory is never freed: a Fiber that was closed long ago may still be
// asked to switch, and must find a generation that is not its own. Blocks are
// reused instead, so there are as many as there were fibers at once.
var registry blocks

const chunkSize = 1024

type blocks struct {
	chunks atomic.Pointer[[]*[chunkSize]atomic.Pointer[carrier]]

	mu    sync.Mutex
	count uintptr
	free  []*C.struct_fiberlab_fiber // at rest and Closed
}

// at returns the carrier of the block with that index, which must exist. Lock-free.
func (r *blocks) at(index uintptr) *carrier {
	return (*r.chunks.Load())[index/chunkSize][index%chunkSize].Load()
}

// newBlock returns a carrier of kind k that has a control block and nothing else.
func newBlock(k kind) (*carrier, error) {
	r := &registry
	r.mu.Lock()
	defer r.mu.Unlock()
	var block *C.struct_fiberlab_fiber
	if n := len(r.free); n > 0 {
		block = r.free[n-1]
		r.free = r.free[:n-1]
	} else {
		block = C.fiberlab_block_new(C.uint32_t(r.count + 1))
		if block == nil {
			return nil, ErrNoMemory
		}
		r.count++
	}
	c := &carrier{kind: k, block: block, state: (*atomic.Uint64)(unsafe.Pointer(&block.state))}
	r.set(uintptr(block.index), c)
	return c, nil
}

// set makes c the carrier of that index. The caller holds mu.
func (r *blocks) set(index uintptr, c *carrier) {
	var chunks []*[chunkSize]atomic.Pointer[carrier]
	if p := r.chunks.Load(); p != nil {
		chunks = *p
	}
	if index/chunkSize >= uintptr(len(chunks)) {
		grown := append(chunks[:len(chunks):len(chunks)], new([chunkSize]atomic.Pointer[carrier]))
		r.chunks.Store(&grown)
		chunks = grown
	}
	chunks[index/chunkSize][index%chunkSize].Store(c)
}

// freeBlock takes back the control block of c, which is at rest and Closed.
func freeBlock(c *carrier) {
	C.fiberlab_block_free(c.block)
	r := &registry
	r.mu.Lock()
	r.free = append(r.free, c.block)
	r.mu.Unlock()
}
