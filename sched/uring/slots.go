package uring

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// atOwnPosition is ownPosition in an entry.
const atOwnPosition = ^uint64(0)

const (
	slotCount = 256
	slotBytes = 32 << 10 // of a slot's buffer
	slotTail  = 4 << 10  // the last of them, for what a file has when the rest is full
)

// fileSlots are the slots of an engine's ring in which files are opened that are read whole. Each has a buffer. For the
// engine's thread.
type fileSlots struct {
	opened  bool
	memory  []byte // the buffers, outside of Go's heap; pages come when bytes do
	readers []slotReader
	free    []uint16
}

// slotReader reads one file after the other into the slot's buffer, each by a chain: open, read, read again. A file
// that ends within the buffer needs no second chain: the second read has found its end.
type slotReader struct {
	engine  *Engine
	slot    uint16
	buffer  []byte
	chain   [3]request
	closing request

	call      *wholeRead
	ended     [3]bool // which requests of the chain are over
	cancelled bool    // the call has given up
}

// The requests of a chain.
const (
	chainOpen = iota
	chainHead
	chainTail
)

// open opens the slots, if the ring can have some, and tells whether there are any.
func (s *fileSlots) open(e *Engine) bool {
	if s.opened {
		return len(s.readers) > 0
	}
	s.opened = true
	r, ok := e.engine.ring.(interface{ openSlots(count int) error })
	if !ok || !e.engine.can(directFiles) || r.openSlots(slotCount) != nil {
		return false
	}
	memory, err := unix.Mmap(-1, 0, slotCount*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	s.memory, s.readers = memory, make([]slotReader, slotCount)
	for i := range s.readers {
		r := &s.readers[i]
		r.engine, r.slot, r.buffer = e, uint16(i), memory[i*slotBytes:(i+1)*slotBytes]
		for i := range r.chain {
			r.chain[i].completed = func(c completion) { r.completed(i, c) }
		}
		r.closing.completed, r.closing.internal = r.hasClosed, true
		s.free = append(s.free, uint16(slotCount-1-i))
	}
	return true
}

// close is called when the ring has been closed.
func (s *fileSlots) close() {
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
	}
	*s = fileSlots{opened: true}
}

// take returns a slot that is free, or nil.
func (s *fileSlots) take() *slotReader {
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	i := s.free[last]
	s.free = s.free[:last]
	return &s.readers[i]
}

// begin begins the chain of a call.
func (r *slotReader) begin(call *wholeRead) {
	r.call, r.ended, r.cancelled = call, [3]bool{}, false
	// The kernel has copied the name when the first read overwrites it.
	copy(r.buffer, call.name)
	r.buffer[len(call.name)] = 0
	addr, slot, rest := address(r.buffer), int32(r.slot), len(r.buffer)-slotTail
	read := entry{op: opRead, how: direct, fd: slot, offset: atOwnPosition}
	head, tail := read, read
	head.how, head.addr, head.length = direct|linked|always, addr, uint32(rest)
	tail.addr, tail.length = addr+uintptr(rest), slotTail
	r.chain[chainOpen].entry = entry{op: opOpen, how: direct | linked, fd: unix.AT_FDCWD, addr: addr, group: r.slot}
	r.chain[chainHead].entry, r.chain[chainTail].entry = head, tail
	for i := range r.chain {
		r.engine.engine.begin(&r.chain[i])
	}
}

func (r *slotReader) completed(part int, c completion) {
	call, n := r.call, max(int(c.result), 0)
	switch part {
	case chainHead:
		call.head = n
	case chainTail:
		call.tail = n
	}
	if c.result < 0 && (call.errno == 0 || part < call.part) { // the first that fails has the others cancelled
		call.part, call.errno = part, syscall.Errno(-c.result)
	}
	r.ended[part] = true
	if slices.Contains(r.ended[:], false) {
		if r.cancelled || r.engine.engine.refuses { // the next one has only begun now
			r.cancelNext()
		}
		return
	}
	r.call = nil
	r.settle(call)
	call.finish()
}

// settle gives the call its bytes when the chain has ended. If the file has ended with them, or cannot be read, the
// slot is emptied with the next batch; else the call does it when it has read on.
func (r *slotReader) settle(call *wholeRead) {
	if call.errno != 0 && call.part == chainOpen {
		r.free()
		return
	}
	rest := len(r.buffer) - slotTail
	call.data = append([]byte{}, r.buffer[:call.head]...)
	call.data = append(call.data, r.buffer[rest:rest+call.tail]...)
	call.more = call.tail > 0 || call.errno == syscall.EINTR || call.errno == syscall.EAGAIN
	if !call.more {
		r.close()
	}
}

// cancel ends the call's chain, if it is still under way. It may be called from anywhere.
func (r *slotReader) cancel(call *wholeRead) {
	_ = r.engine.submit(&request{entry: entry{op: opNop}, internal: true, completed: func(completion) {
		if r.call == call {
			r.cancelled = true
			r.cancelNext()
		}
	}})
}

// cancelNext cancels the request of the chain that is under way. The next one of the chain begins for all that.
func (r *slotReader) cancelNext() {
	call, part := r.call, slices.Index(r.ended[:], false)
	cancel := &request{entry: entry{op: opCancel, offset: r.chain[part].id}, internal: true, cancelled: true}
	cancel.completed = func(c completion) {
		if c.err() == syscall.ENOENT && r.call == call && !r.ended[part] { // it is just beginning
			r.cancelNext()
		}
	}
	r.engine.engine.begin(cancel)
}

// close empties the slot. It may be called from anywhere.
func (r *slotReader) close() {
	r.closing.entry = entry{op: opClose, how: direct, fd: int32(r.slot)}
	_ = r.engine.submit(&r.closing) // if the engine has ended, so have its files
}

func (r *slotReader) hasClosed(completion) { r.free() }

func (r *slotReader) free() {
	s := &r.engine.slots
	s.free = append(s.free, r.slot)
}
