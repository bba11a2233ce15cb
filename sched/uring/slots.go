package uring

import (
	"context"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// ownPosition, as an offset, is the position that the kernel holds for an open file.
const OwnPosition = -1

// atOwnPosition is ownPosition in an entry.
const atOwnPosition = ^uint64(0)

const (
	slotCount = 256
	SlotBytes = 32 << 10 // of a slot's buffer
	SlotTail  = 4 << 10  // the last of them, for what a file has when the rest is full
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
	chain   [3]Request
	closing Request

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

// readWhole reads a file whole, if the caller is a fiber of the engine's worker, its driver has slots, one is free, and
// the file is not a large one on a disk; else it returns false, and the caller reads it another way. The error is an
// *fs.PathError: see ReadFile.
func (e *Engine) ReadWhole(ctx context.Context, name string) (data []byte, err error, whole bool) {
	if len(name) >= SlotBytes-SlotTail || strings.IndexByte(name, 0) >= 0 || !e.Mine() || !e.slots.open(e) {
		return nil, nil, false
	}
	r := e.slots.take()
	if r == nil {
		return nil, nil, false
	}
	return r.read(ctx, name)
}

// open opens the slots, if the ring can have some, and tells whether there are any.
func (s *fileSlots) open(e *Engine) bool {
	if s.opened {
		return len(s.readers) > 0
	}
	s.opened = true
	r, ok := e.ring.(interface{ openSlots(count int) error })
	if !ok || !e.Can(directFiles) || r.openSlots(slotCount) != nil {
		return false
	}
	memory, err := unix.Mmap(-1, 0, slotCount*SlotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	s.memory, s.readers = memory, make([]slotReader, slotCount)
	for i := range s.readers {
		r := &s.readers[i]
		r.engine, r.slot, r.buffer = e, uint16(i), memory[i*SlotBytes:(i+1)*SlotBytes]
		for i := range r.chain {
			r.chain[i].Completed = func(c Completion) { r.completed(i, c) }
		}
		r.closing.Completed, r.closing.Internal = r.hasClosed, true
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
	addr, slot, rest := Address(r.buffer), int32(r.slot), len(r.buffer)-SlotTail
	read := Entry{Op: OpRead, How: direct, FD: slot, Offset: atOwnPosition}
	head, tail := read, read
	head.How, head.Addr, head.Length = direct|linked|always, addr, uint32(rest)
	tail.Addr, tail.Length = addr+uintptr(rest), SlotTail
	r.chain[chainOpen].Entry = Entry{Op: OpOpen, How: direct | linked, FD: unix.AT_FDCWD, Addr: addr, group: r.slot}
	r.chain[chainHead].Entry, r.chain[chainTail].Entry = head, tail
	for i := range r.chain {
		r.engine.begin(&r.chain[i])
	}
}

func (r *slotReader) completed(part int, c Completion) {
	call, n := r.call, max(int(c.Result), 0)
	switch part {
	case chainHead:
		call.head = n
	case chainTail:
		call.tail = n
	}
	if c.Result < 0 && (call.errno == 0 || part < call.part) { // the first that fails has the others cancelled
		call.part, call.errno = part, syscall.Errno(-c.Result)
	}
	r.ended[part] = true
	if slices.Contains(r.ended[:], false) {
		if r.cancelled || r.engine.refuses { // the next one has only begun now
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
	rest := len(r.buffer) - SlotTail
	call.data = append([]byte{}, r.buffer[:call.head]...)
	call.data = append(call.data, r.buffer[rest:rest+call.tail]...)
	call.more = call.tail > 0 || call.errno == syscall.EINTR || call.errno == syscall.EAGAIN
	if !call.more {
		r.close()
	}
}

// cancel ends the call's chain, if it is still under way. It may be called from anywhere.
func (r *slotReader) cancel(call *wholeRead) {
	_ = r.engine.Submit(&Request{Entry: Entry{Op: OpNop}, Internal: true, Completed: func(Completion) {
		if r.call == call {
			r.cancelled = true
			r.cancelNext()
		}
	}})
}

// cancelNext cancels the request of the chain that is under way. The next one of the chain begins for all that.
func (r *slotReader) cancelNext() {
	call, part := r.call, slices.Index(r.ended[:], false)
	cancel := &Request{Entry: Entry{Op: OpCancel, Offset: r.chain[part].id}, Internal: true, Ending: true}
	cancel.Completed = func(c Completion) {
		if c.Err() == syscall.ENOENT && r.call == call && !r.ended[part] { // it is just beginning
			r.cancelNext()
		}
	}
	r.engine.begin(cancel)
}

// close empties the slot. It may be called from anywhere.
func (r *slotReader) close() {
	r.closing.Entry = Entry{Op: OpClose, How: direct, FD: int32(r.slot)}
	_ = r.engine.Submit(&r.closing) // if the engine has ended, so have its files
}

func (r *slotReader) hasClosed(Completion) { r.free() }

func (r *slotReader) free() {
	s := &r.engine.slots
	s.free = append(s.free, r.slot)
}

// onDisk reports whether name stands for a file on a disk: it can be read twice, and its size is known.
func onDisk(name string) bool {
	var stat unix.Stat_t
	_, err := fibersync.Call(func() (struct{}, error) { return struct{}{}, unix.Stat(name, &stat) })
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Size > 0
}

// wholeRead is a call of ReadFile that waits for the chain of a slot.
type wholeRead struct {
	name   string
	parker park.Scheduled
	over   atomic.Bool

	// The outcome, which the engine's thread writes.
	data       []byte
	head, tail int  // bytes that the two reads have read
	more       bool // the file has perhaps not ended, and the slot is the call's
	part       int  // of the chain: the first part that has failed
	errno      syscall.Errno
}

// finish has the caller go on.
func (w *wholeRead) finish() {
	parker := w.parker
	w.over.Store(true)
	parker.Unpark()
}

// Awaited implements park.Awaited.
func (w *wholeRead) Awaited() (string, uintptr) { return "reading the file " + w.name, 0 }

// read is readWhole by way of the slot, which it gives back. The caller is a fiber of the engine's worker.
func (r *slotReader) read(ctx context.Context, name string) (data []byte, err error, whole bool) {
	w := &wholeRead{name: name, parker: park.Current().(park.Scheduled)}
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, w.parker.Unpark)()
	}
	r.begin(w)
	for cancelled := false; !w.over.Load(); {
		w.parker.Awaits(w)
		w.parker.Park(time.Time{})
		if !cancelled && !w.over.Load() && ctx.Err() != nil {
			cancelled = true
			r.cancel(w)
		}
	}
	switch {
	case w.more && onDisk(name):
		r.close()
		return nil, nil, false
	case w.more:
		w.data, err = r.readOn(ctx, w.data)
		r.close()
	case w.errno != 0:
		err = w.errno
	}
	switch {
	case err == nil:
		return w.data, nil, true
	case (err == syscall.ECANCELED || err == syscall.EINTR) && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == syscall.ECANCELED && r.engine.Refuses():
		err = ErrClosed
	}
	op := "read"
	if w.errno != 0 && w.part == chainOpen {
		op = "open"
	}
	return w.data, &fs.PathError{Op: op, Path: name, Err: err}, true
}

// readOn reads the rest of the file in the slot, a pipe or a device or a file whose size only its reader finds, and
// appends it to data.
func (r *slotReader) readOn(ctx context.Context, data []byte) ([]byte, error) {
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, max(len(data), SlotBytes))
		}
		op := Entry{How: direct, FD: int32(r.slot), Offset: atOwnPosition}
		c, err := r.engine.readInto(ctx, op, data[len(data):cap(data)])
		if err == nil {
			err = c.Err()
		}
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
		case err != nil:
			return data, err
		case c.Result == 0:
			return data, nil
		default:
			data = data[:len(data)+int(c.Result)]
		}
	}
}

// readInto reads into p once, as op says.
func (e *Engine) readInto(ctx context.Context, op Entry, p []byte) (Completion, error) {
	var pin runtime.Pinner
	pin.Pin(&p[0])
	defer pin.Unpin()
	p = p[:min(len(p), MostAtOnce)]
	op.Op, op.Addr, op.Length = OpRead, Address(p), uint32(len(p))
	c, err := e.DoContext(ctx, op)
	if err == nil && c.Result > 0 {
		wrote(p[:c.Result])
	}
	return c, err
}
