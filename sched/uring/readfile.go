package uring

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/park"
)

// ReadFile returns the contents of a file, as os.ReadFile does. It blocks its caller, a fiber not its thread. It
// returns the errors of OpenFile. A fiber waits once for a small file: a chain of requests opens the file and reads it.
// The file is closed with the next batch of requests. A larger file on a disk is then opened anew, and read into memory
// of its size.
func (s *Engines) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if ctx == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: sched.ErrNilContext}
	}
	if err := ctx.Err(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: context.Cause(ctx)}
	}
	fits := len(name) < slotBytes-slotTail && strings.IndexByte(name, 0) < 0
	if e, err := s.Here(); err == nil && fits && e.mine() && e.slots.open(e) {
		if r := e.slots.take(); r != nil {
			return r.read(ctx, name)
		}
	}
	return s.readOpened(ctx, name)
}

// readOpened is ReadFile by a File.
func (s *Engines) readOpened(ctx context.Context, name string) ([]byte, error) {
	f, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	}
	data, err := f.readAll()
	if errors.Is(err, fs.ErrClosed) {
		err = f.failed("read", context.Cause(ctx))
	}
	return data, err
}

// readAll reads the file to its end, into memory of the file's size if that is known. It does not believe a size beyond
// mostAtOnce before it has found half of that.
func (f *File) readAll() ([]byte, error) {
	size := int64(0) // not known
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	data := make([]byte, 0, max(512, min(size, mostAtOnce)+1)) // one more byte finds the end
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			more := len(data)
			if left := size + 1 - int64(len(data)); left > 0 {
				more = int(min(left, int64(more)))
			}
			data = slices.Grow(data, more)
		}
	}
}

// onDisk reports whether name stands for a file on a disk: it can be read twice, and its size is known.
func onDisk(name string) bool {
	var stat unix.Stat_t
	err := blocking(func() error { return ignoringEINTR(func() error { return unix.Stat(name, &stat) }) })
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

// read reads a file by way of the slot, and gives that back. The caller is a fiber of the engine's worker.
func (r *slotReader) read(ctx context.Context, name string) ([]byte, error) {
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
	var err error
	switch {
	case w.more && onDisk(name):
		r.close()
		return r.engine.set.readOpened(ctx, name)
	case w.more:
		w.data, err = r.readOn(ctx, w.data)
		r.close()
	case w.errno != 0:
		err = w.errno
	}
	switch {
	case err == nil:
		return w.data, nil
	case (err == syscall.ECANCELED || err == syscall.EINTR) && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == syscall.ECANCELED && r.engine.engine.takesNone():
		err = ErrClosed
	}
	op := "read"
	if w.errno != 0 && w.part == chainOpen {
		op = "open"
	}
	return w.data, &fs.PathError{Op: op, Path: name, Err: err}
}

// readOn reads the rest of the file in the slot, a pipe or a device or a file whose size only its reader finds, and
// appends it to data.
func (r *slotReader) readOn(ctx context.Context, data []byte) ([]byte, error) {
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, max(len(data), slotBytes))
		}
		op := entry{how: direct, fd: int32(r.slot), offset: atOwnPosition}
		c, err := r.engine.readInto(ctx, op, data[len(data):cap(data)])
		if err == nil {
			err = c.err()
		}
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
		case err != nil:
			return data, err
		case c.result == 0:
			return data, nil
		default:
			data = data[:len(data)+int(c.result)]
		}
	}
}

// readInto reads into p once, as op says.
func (e *Engine) readInto(ctx context.Context, op entry, p []byte) (completion, error) {
	var pin runtime.Pinner
	pin.Pin(&p[0])
	defer pin.Unpin()
	p = p[:min(len(p), mostAtOnce)]
	op.op, op.addr, op.length = opRead, address(p), uint32(len(p))
	c, err := e.doContext(ctx, op)
	if err == nil && c.result > 0 {
		wrote(p[:c.result])
	}
	return c, err
}
