package fiberio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/fault"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// File is an open file, or whatever else a name stands for: a directory, a pipe, a terminal. It is what *os.File is to
// package os. Any number of fibers and goroutines may use it at once, its reads and writes wait as in package os, and
// its errors are *fs.PathError. A fiber that waits blocks no thread. Files belong to no engine: each operation goes by
// the engine of its caller.
type File struct {
	engines *uring.Engines
	name    string
	appends bool
	fd      int
	kind    atomic.Int32 // a fileKind

	// a caller at a time; a file that has a position has one for both, and uses reading
	reading, writing fibersync.Mutex
	position         int64 // under reading: where the next Read or Write begins, if the File holds that

	mu       sync.Mutex
	closed   bool
	underWay []*uring.Operation // operations that Close ends
	users    int                // operations that use the descriptor
	unused   *fibersync.Event   // set when Close waits for them

	directory directory
}

// Open opens a file for reading. See OpenFile.
func Open(ctx context.Context, s *uring.Engines, name string) (*File, error) {
	return OpenFile(ctx, s, name, os.O_RDONLY, 0)
}

// Create opens a file for reading and writing, makes it if there is none, and empties it. See OpenFile.
func Create(ctx context.Context, s *uring.Engines, name string) (*File, error) {
	return OpenFile(ctx, s, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile opens a file with flags and permissions as os.OpenFile does. It blocks its caller, a fiber not its thread,
// perhaps for long if name stands for a named pipe. The error is a *fs.PathError: it wraps the error of the system
// call, context.Cause(ctx) if ctx is done before, sched.ErrNilContext if ctx is nil, or what Here returns. A named pipe
// may be open for reading before a writer comes: then its first read waits for one. The caller must close the file.
// Close of the Engines does not, but ends its operations.
func OpenFile(ctx context.Context, s *uring.Engines, name string, flag int, perm fs.FileMode) (*File, error) {
	fd, err := openDescriptor(ctx, s, name, flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &File{engines: s, name: name, fd: fd, appends: flag&os.O_APPEND != 0}, nil
}

// ok is false for nil and for the zero value, whose methods return os.ErrInvalid, as in package os.
func (f *File) ok() bool { return f != nil && f.engines != nil }

// Name is the name by which the file was opened.
func (f *File) Name() string { return f.name }

// Close ends the operations that are under way, which return fs.ErrClosed, and closes the descriptor when they have
// ended. It blocks its caller until then, a fiber not its thread. A second call returns fs.ErrClosed.
func (f *File) Close() error {
	if !f.ok() {
		return os.ErrInvalid
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return f.failed("close", fs.ErrClosed)
	}
	f.closed = true
	for _, a := range f.underWay {
		a.Nudge()
	}
	var unused *fibersync.Event
	if f.users > 0 {
		unused = fibersync.NewEvent(fibersync.ManualReset, false)
		f.unused = unused
	}
	f.mu.Unlock()
	if unused != nil {
		uring.Unseen(unused.Wait)
	}
	f.directory.close()
	return f.failed("close", closeDescriptor(f.engines, f.fd))
}

// use keeps the descriptor open until unuse. It returns fs.ErrClosed when it is closed.
func (f *File) use() error {
	if !f.ok() {
		return os.ErrInvalid
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.users++
	return nil
}

func (f *File) unuse() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 && f.unused != nil {
		f.unused.Signal()
	}
}

// Ended implements uring.Ending for the operations of a file.
func (f *File) Ended() (time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return time.Time{}, fs.ErrClosed
	}
	return time.Time{}, nil
}

// failed is err as the file reports it. The end of a file is io.EOF alone.
func (f *File) failed(operation string, err error) error {
	if err == nil || err == io.EOF || !f.ok() {
		return err
	}
	return &fs.PathError{Op: operation, Path: f.name, Err: err}
}

// Read implements io.Reader: from the file's own position, or whatever has come if it has none.
func (f *File) Read(p []byte) (int, error) {
	if err := f.use(); err != nil {
		return 0, f.failed("read", err)
	}
	defer f.unuse()
	if len(p) == 0 {
		return 0, nil
	}
	lock(&f.reading)
	defer f.reading.Unlock()
	at := f.next()
	n, err := f.transfer(uring.OpRead, p, at)
	f.moved(at, n)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, f.failed("read", err)
}

// ReadAt implements io.ReaderAt. Things without a position, as pipes, refuse it.
func (f *File) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, f.failed("readat", errNegativeOffset)
	}
	if err := f.useAt(); err != nil {
		return 0, f.failed("read", err)
	}
	defer f.unuse()
	for n < len(p) {
		m, err := f.transfer(uring.OpRead, p[n:], offset+int64(n))
		n += m
		if m == 0 && err == nil {
			err = io.EOF
		}
		if err != nil {
			return n, f.failed("read", err)
		}
	}
	return n, nil
}

// Write implements io.Writer: at the file's own position, or at its end if it was opened with O_APPEND.
func (f *File) Write(p []byte) (int, error) {
	if err := f.use(); err != nil {
		return 0, f.failed("write", err)
	}
	defer f.unuse()
	turn := &f.writing
	if f.hasPosition() {
		turn = &f.reading
	}
	lock(turn)
	defer turn.Unlock()
	at := f.next()
	if len(p) == 0 { // does not block; the kernel refuses a file that is not open for writing
		_, err := unix.Write(f.fd, nil)
		return 0, f.failed("write", err)
	}
	if f.appends && at != uring.OwnPosition {
		n, err := f.append(p)
		return n, f.failed("write", err)
	}
	n, err := f.writeAll(p, at)
	f.moved(at, n)
	return n, f.failed("write", err)
}

// WriteAt implements io.WriterAt. Files that were opened with O_APPEND, and things without a position, refuse it.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	if f.ok() && f.appends {
		return 0, errAppends
	}
	if offset < 0 {
		return 0, f.failed("writeat", errNegativeOffset)
	}
	if err := f.useAt(); err != nil {
		return 0, f.failed("write", err)
	}
	defer f.unuse()
	n, err := f.writeAll(p, offset)
	return n, f.failed("write", err)
}

// writeAll writes all of p, or returns why not.
func (f *File) writeAll(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := offset
		if at != uring.OwnPosition {
			at += int64(n)
		}
		m, err := f.transfer(uring.OpWrite, p[n:], at)
		n += m
		if m == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Sync returns when all that has been written is on the disk.
func (f *File) Sync() error {
	if err := f.use(); err != nil {
		return f.failed("sync", err)
	}
	defer f.unuse()
	for {
		c, err := f.operate(uring.Entry{Op: uring.OpSync, FD: int32(f.fd)})
		if err == nil {
			err = c.Err()
		}
		switch err {
		case syscall.EINTR, syscall.EAGAIN:
			continue
		case errNotByEngine:
			err = blocking(func() error { return ignoringEINTR(func() error { return unix.Fsync(f.fd) }) })
		}
		return f.failed("sync", err)
	}
}

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.use(); err != nil {
		return nil, f.failed("stat", err)
	}
	defer f.unuse()
	file, err := f.another()
	if err != nil {
		return nil, f.failed("stat", err)
	}
	defer file.Close()
	return file.Stat()
}

var (
	errNegativeOffset = fault.Of(sched.ErrNegative, "a negative offset: give 0 or more")
	errAppends        = errors.New("sched/uring: WriteAt of a file that was opened with O_APPEND: " +
		"open it without, or call Write")
)

// useAt is use for an operation at an offset.
func (f *File) useAt() error {
	if err := f.use(); err != nil {
		return err
	}
	if f.hasPosition() {
		return nil
	}
	f.unuse()
	return syscall.ESPIPE
}

// fileKind is how a file is read and written, and who holds its position.
//
// The File holds the position of a file on a disk, and names an offset to the kernel each time. It has to: on a full
// disk a part of a request is transferred, and the rest fails. io_uring returns the part then, and leaves the kernel's
// position where it was. The next request there would transfer the same part again.
type fileKind int32

const (
	kindUnknown fileKind = iota
	kindDisk             // regular files and disks: they never wait for another process
	// directories, devices as /dev/zero, and files without a position that the kernel calls regular
	kindOther
	kindStream // pipes, terminals, sockets: they have no position
)

// kindOf asks the kernel for the kind, once. The descriptor must be in use.
func (f *File) kindOf() fileKind {
	if k := fileKind(f.kind.Load()); k != kindUnknown {
		return k
	}
	k := kindOther
	var stat unix.Stat_t
	var mode uint32
	if err := ignoringEINTR(func() error { return unix.Fstat(f.fd, &stat) }); err == nil {
		mode = stat.Mode & unix.S_IFMT
	}
	_, err := unix.Seek(f.fd, 0, io.SeekCurrent)
	switch {
	case err == nil && (mode == unix.S_IFREG || mode == unix.S_IFBLK):
		k = kindDisk
	case err != nil && mode != unix.S_IFREG:
		k = kindStream
	}
	f.kind.Store(int32(k))
	return k
}

func (f *File) hasPosition() bool { return f.kindOf() != kindStream }

// lock locks a mutex of a file. Its holder may wait for anything, so to wait for it is no deadlock of the caller's
// scheduler.
func lock(m *fibersync.Mutex) {
	if !m.TryLock() {
		uring.Unseen(m.Lock)
	}
}

// next is where the next Read or Write begins: at an offset, or at ownPosition if the File does not hold its position.
// The caller holds reading, unless the file is a stream.
func (f *File) next() int64 {
	if f.kindOf() != kindDisk {
		return uring.OwnPosition
	}
	return f.position
}

// moved moves the position past n bytes that have been transferred at an offset.
func (f *File) moved(at int64, n int) {
	if at != uring.OwnPosition {
		f.position = at + int64(n)
	}
}

// append writes p at the end of a file that was opened with O_APPEND, and moves the position there. Only the kernel
// knows where that is. If it has written a part, its position has not moved: then the file ends with that part, unless
// another process has written more by then.
func (f *File) append(p []byte) (int, error) {
	n, err := f.writeAll(p, uring.OwnPosition)
	if n == 0 {
		return 0, err
	}
	whence := io.SeekCurrent
	if err != nil {
		whence = io.SeekEnd
	}
	at, failed := unix.Seek(f.fd, 0, whence)
	if failed == nil {
		f.position = at
	}
	return n, err
}

// Seek implements io.Seeker.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if err := f.use(); err != nil {
		return 0, f.failed("seek", err)
	}
	defer f.unuse()
	if !f.hasPosition() {
		return 0, f.failed("seek", syscall.ESPIPE)
	}
	lock(&f.reading)
	defer f.reading.Unlock()
	at, err := f.seek(offset, whence)
	if err != nil {
		return 0, f.failed("seek", err)
	}
	return at, nil
}

// seek has the kernel find the new position: it knows where the file, its data and its holes end. The caller holds
// reading.
func (f *File) seek(offset int64, whence int) (at int64, err error) {
	if f.kindOf() == kindOther {
		err = blocking(func() error {
			at, err = f.directory.seek(f.fd, offset, whence)
			return err
		})
		return at, err
	}
	held := f.next() != uring.OwnPosition
	if held && whence == io.SeekCurrent {
		if _, err := unix.Seek(f.fd, f.position, io.SeekStart); err != nil {
			return 0, err
		}
	}
	if at, err = unix.Seek(f.fd, offset, whence); err == nil && held {
		f.position = at
	}
	return at, err
}
