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

// Buffers is what the kernel receives into: memory of C, in pieces of the same size. A completion with the flag BUFFER
// names the piece that it has filled, and the piece is the program's until it is given back. It belongs to a ring; the
// memory is freed when the ring has been closed and all pieces have been given back.
type Buffers struct {
	c      *C.struct_fiberlab_buffers // only for the ring's thread, while the ring is open
	memory []byte
	given  []uint16 // a stack, for that thread, too
	size   int

	next   []atomic.Int32 // the piece after this one in a list; none: the last
	filled []int32        // how many bytes the kernel has put into it

	back atomic.Int32 // list of pieces that other threads have given back
	free atomic.Int32 // pieces that the kernel has, or may have at the next turn
	held atomic.Int32 // pieces that the program has, and one more for the ring
}

// None ends a list of pieces.
const None = -1

// provide gives the ring that many buffers, rounded up to a power of two, of size bytes each. It may be called once.
// The error is the kernel's.
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

// Buffer is the number of the buffer that the completion has filled, if there is one.
func (c Completion) Buffer() (number int32, ok bool) {
	return int32(c.Flags >> C.IORING_CQE_BUFFER_SHIFT), c.Flags&C.IORING_CQE_F_BUFFER != 0
}

// Take says that the kernel has filled a piece with n bytes: it is the program's now. For the ring's thread.
func (b *Buffers) Take(number int32, n int) {
	b.free.Add(-1)
	b.held.Add(1)
	b.filled[number] = int32(n)
	b.next[number].Store(None)
}

// Room is how many pieces the kernel has, or may have at the next turn. Any thread may call it.
func (b *Buffers) Room() int { return int(b.free.Load()) }

// After is the piece behind this one in a list, or none.
func (b *Buffers) After(number int32) int32 { return b.next[number].Load() }

// Link puts the piece next behind this one in a list.
func (b *Buffers) Link(number, next int32) { b.next[number].Store(next) }

// Bytes returns what the kernel has put into the piece. The bytes are valid until it is given back.
func (b *Buffers) Bytes(number int32) []byte {
	at := int(number) * b.size
	return b.memory[at : at+int(b.filled[number]) : at+b.size]
}

// Give returns a piece, which a later turn hands to the kernel. For the ring's thread, while the ring is open.
func (b *Buffers) Give(number int32) {
	b.given[b.c.given_count] = uint16(number)
	b.c.given_count++
	b.free.Add(1)
	b.held.Add(-1) // the ring's own is left
}

// GiveElsewhere is give for any thread at any time.
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

// collect gives the kernel what other threads have given back. For the ring's thread.
func (b *Buffers) collect() {
	if b.back.Load() == None {
		return
	}
	for number := b.back.Swap(None); number != None; {
		following := b.next[number].Load()
		b.held.Add(1) // give undoes it
		b.Give(number)
		number = following
	}
}

// letGo counts a piece, or the ring, that has gone. The last one frees the memory.
func (b *Buffers) letGo() {
	if b.held.Add(-1) == 0 {
		C.fiberlab_buffers_unmap(unsafe.Pointer(&b.memory[0]), C.size_t(len(b.memory)))
		b.memory = nil
	}
}

// receives returns the buffers into which the engine receives, or nil. Any thread may call it.
func (e *Engine) Buffers() *Buffers { return e.receiving.Load() }
