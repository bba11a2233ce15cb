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
// A block's memory is never freed: a switch to a Fiber that was closed long ago
// must find a generation that is not the Fiber's. Blocks are
// reused instead, so there are as many as there were fibers at once.
var registry blocks

const chunkSize = 1024

type blocks struct {
	chunks atomic.Pointer[[]*[chunkSize]atomic.Pointer[runner]]

	mu    sync.Mutex
	count uintptr
	free  []*C.struct_fiberlab_fiber // Closed
}

// at returns the runner of the block with that index, which must exist. Lock-free.
func (all *blocks) at(index uintptr) *runner {
	return (*all.chunks.Load())[index/chunkSize][index%chunkSize].Load()
}

// newBlock returns a runner of kind k that has a control block and nothing else.
func newBlock(k kind) (*runner, error) {
	all := &registry
	all.mu.Lock()
	defer all.mu.Unlock()
	var block *C.struct_fiberlab_fiber
	if n := len(all.free); n > 0 {
		block = all.free[n-1]
		all.free = all.free[:n-1]
	} else {
		block = C.fiberlab_block_new(C.uint32_t(all.count + 1))
		if block == nil {
			return nil, ErrNoMemory
		}
		all.count++
	}
	r := &runner{kind: k, block: block, state: (*atomic.Uint64)(unsafe.Pointer(&block.state))}
	all.set(uintptr(block.index), r)
	return r, nil
}

// set makes r the runner of that index. The caller holds mu.
func (all *blocks) set(index uintptr, r *runner) {
	var chunks []*[chunkSize]atomic.Pointer[runner]
	if p := all.chunks.Load(); p != nil {
		chunks = *p
	}
	if index/chunkSize >= uintptr(len(chunks)) {
		grown := append(chunks[:len(chunks):len(chunks)], new([chunkSize]atomic.Pointer[runner]))
		all.chunks.Store(&grown)
		chunks = grown
	}
	chunks[index/chunkSize][index%chunkSize].Store(r)
}

// freeBlock takes back the control block of r, which is Closed and on which nothing runs.
func freeBlock(r *runner) {
	C.fiberlab_block_free(r.block)
	all := &registry
	all.mu.Lock()
	all.free = append(all.free, r.block)
	all.mu.Unlock()
}
