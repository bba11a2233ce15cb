package uring

// #include "ring.h"
import "C"

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Buffers is memory that Go does not manage, in pieces of the same size. The kernel fills a piece with received bytes,
// and a completion with the flag BUFFER names it. The program then owns the piece until it gives the piece back.
// Buffers belong to a ring. The memory is freed when the ring has been closed and all pieces have been given back.
type Buffers struct {
	c      *C.struct_fiberlab_buffers // only for the ring's thread, while the ring is open
	memory []byte
	given  []uint16 // a stack of the numbers of free pieces, for the ring's thread
	size   int

	next   []atomic.Int32 // for each piece the next one in its list, or None
	filled []int32        // how many bytes the kernel has put into it

	back atomic.Int32 // list of pieces that other threads have given back
	free atomic.Int32 // pieces that the kernel has, or may have at the next turn
	held atomic.Int32 // pieces that the program has, and one more for the ring
}

// None ends a list of pieces.
const None = -1

// provide makes count buffers, rounded up to a power of two, of size bytes each, for the ring. Only the ring's thread
// may call it, and only once. The error wraps the kernel's.
func (r *ring) provide(count, size int) (*Buffers, error) {
	count = 1 << bits.Len(uint(max(count, 1)-1))
	if result := C.fiberlab_ring_provide(r.c, C.unsigned(count), C.unsigned(size)); result < 0 {
		return nil, fmt.Errorf("sched/uring: %d buffers of %d bytes: %w", count, size, syscall.Errno(-result))
	}
	c := &r.c.buffers
	b := &Buffers{
		c:      c,
		memory: unsafe.Slice((*byte)(unsafe.Pointer(c.memory)), count*size),
		given:  unsafe.Slice((*uint16)(unsafe.Pointer(c.given)), count),
		size:   size,
		next:   make([]atomic.Int32, count),
		filled: make([]int32, count),
	}
	b.back.Store(None)
	b.free.Store(int32(count))
	b.held.Store(1)
	r.buffers = b
	return b, nil
}

// Buffer returns the number of the piece that the completion names. ok is false if it names none.
func (c Completion) Buffer() (number int32, ok bool) {
	return int32(c.Flags >> C.IORING_CQE_BUFFER_SHIFT), c.Flags&C.IORING_CQE_F_BUFFER != 0
}

// Take records that the kernel has put n bytes into a piece, which the program owns now. For the ring's thread.
func (b *Buffers) Take(number int32, n int) {
	b.free.Add(-1)
	b.held.Add(1)
	b.filled[number] = int32(n)
	b.next[number].Store(None)
}

// Room returns how many pieces are free. A piece of GiveElsewhere counts only after collect. Any thread may call it.
func (b *Buffers) Room() int { return int(b.free.Load()) }

// After returns the piece after this one in its list, or None. Only the user of the list may call After and Link.
func (b *Buffers) After(number int32) int32 { return b.next[number].Load() }

// Link makes next the piece after number in a list.
func (b *Buffers) Link(number, next int32) { b.next[number].Store(next) }

// Bytes returns what the kernel has put into the piece. The bytes are valid until it is given back.
func (b *Buffers) Bytes(number int32) []byte {
	at := int(number) * b.size
	return b.memory[at : at+int(b.filled[number]) : at+b.size]
}

// Give gives a piece back. A later turn hands it to the kernel. For the ring's thread, while the ring is open.
func (b *Buffers) Give(number int32) {
	b.given[b.c.given_count] = uint16(number)
	b.c.given_count++
	b.free.Add(1)
	b.held.Add(-1) // the ring's own is left
}

// GiveElsewhere is Give for any thread, even after the ring has been closed. It does not block.
func (b *Buffers) GiveElsewhere(number int32) {
	for {
		first := b.back.Load()
		b.next[number].Store(first)
		if b.back.CompareAndSwap(first, number) {
			break
		}
	}
	b.letGo()
}

// collect calls Give for the pieces of GiveElsewhere. For the ring's thread, while the ring is open.
func (b *Buffers) collect() {
	if b.back.Load() == None {
		return
	}
	for number := b.back.Swap(None); number != None; {
		following := b.next[number].Load()
		b.held.Add(1) // Give undoes it
		b.Give(number)
		number = following
	}
}

// letGo subtracts 1 from held, for a piece or for the closed ring. The last call frees the memory. For any thread.
func (b *Buffers) letGo() {
	if b.held.Add(-1) == 0 {
		C.fiberlab_buffers_unmap(unsafe.Pointer(&b.memory[0]), C.size_t(len(b.memory)))
		b.memory = nil
	}
}

// Buffers returns the buffers into which the engine receives, or nil. Any thread may call it.
func (e *Engine) Buffers() *Buffers { return e.receiving.Load() }
