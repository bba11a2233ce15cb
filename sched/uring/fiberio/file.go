package fiberio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// File is an open file, directory, device, pipe or terminal. Its methods do what methods of *os.File do. Any number of
// fibers and goroutines may use it at once. A fiber that waits blocks no thread, except in Close, and in Seek and Stat
// where a file system waits for a network. Errors are *fs.PathError. Only io.EOF, and os.ErrInvalid of a nil or zero
// File, are not wrapped.
type File struct {
	d    descriptor
	name string
	flag int // of open(2)
	kind fileKind
	mode uint32 // of fstat(2)
	size int64  // when it was opened, of a regular file

	position int64 // kindDisk: where the next Read or Write begins. Only for the user of d.reading
}

// fileKind is how a file is read and written, and who holds its position.
//
// The File holds the position of a file on a disk, and names an offset each time. A Write with O_APPEND names none: the
// kernel finds the end, and Write asks it for the new position. The reason is a full disk, where the kernel transfers a
// part of a request. io_uring returns that part, but leaves the kernel's position where it was. The next request there
// would transfer the same part again.
type fileKind int

const (
	kindDisk   fileKind = iota // regular files and disks: they never wait for another process
	kindOther                  // directories, devices such as /dev/zero, files of /proc without a position
	kindStream                 // pipes and terminals: they have no position, and do not block
)

// Open opens a file for reading. See OpenFile.
func Open(ctx context.Context, s *uring.Engines, name string) (*File, error) {
	return OpenFile(ctx, s, name, os.O_RDONLY, 0)
}

// Create opens a file for reading and writing, makes it if there is none, and empties it. See OpenFile.
func Create(ctx context.Context, s *uring.Engines, name string) (*File, error) {
	return OpenFile(ctx, s, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// OpenFile opens a file with flags and permissions as os.OpenFile does. It blocks its caller, but not a fiber's thread.
// The error is a *fs.PathError: it wraps the error of the system call, context.Cause(ctx), sched.ErrNilContext,
// sched.ErrInWait, or the error of Engines.Here. ctx ends the wait for a named pipe's reader, or for another process's
// lease; an open that waits for a disk goes on. A named pipe opens for reading before a writer comes: then its first
// read waits for one. The caller must close the file. Close of the Engines ends its operations, but does not close it.
func OpenFile(ctx context.Context, s *uring.Engines, name string, flag int, perm fs.FileMode) (*File, error) {
	fd, err := open(ctx, s, name, flag, openMode(perm))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return newFile(s, name, flag, fd), nil
}

// newFile returns the File of fd, which open has returned.
func newFile(s *uring.Engines, name string, flag, fd int) *File {
	f := &File{name: name, flag: flag}
	f.d.init(s, fd)
	f.d.shut = f.shut
	f.identify()
	if f.kind != kindStream { // else io_uring returns EAGAIN from some file systems
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flag&^unix.O_NONBLOCK)
	}
	return f
}

// triesApart is how long open waits before it tries again.
const triesApart = 5 * time.Millisecond

// open opens name in non-blocking mode: a system call that waits could not be cancelled. It blocks its caller until it
// has the descriptor. Unless flag has O_NONBLOCK, it tries again until a named pipe has a reader (ENXIO), and while
// another process has a lease on the file (EAGAIN; see fcntl(2)).
func open(ctx context.Context, s *uring.Engines, name string, flag int, mode uint32) (int, error) {
	if ctx == nil {
		return -1, sched.ErrNilContext
	}
	cname, err := unix.ByteSliceFromString(name)
	if err != nil {
		return -1, err
	}
	flags := flag | unix.O_CLOEXEC | unix.O_NONBLOCK
	op := uring.Entry{Op: uring.OpOpen, FD: unix.AT_FDCWD, Flags: uint32(flags), Offset: uint64(mode)}
	for {
		if ctx.Err() != nil {
			return -1, context.Cause(ctx)
		}
		fd, err := carryOut(s, op, cname, func() (int, error) { return unix.Open(name, flags, mode) })
		if flag&unix.O_NONBLOCK != 0 || err != unix.EAGAIN && (err != unix.ENXIO || !isPipe(name)) {
			return fd, err
		}
		again, cancel := context.WithTimeout(ctx, triesApart)
		uring.Unseen(func() { _ = new(fibersync.Event).WaitContext(again) })
		cancel()
	}
}

// isPipe reports whether name names a pipe. To open one for writing without blocking is an error, ENXIO, while it
// has no reader.
func isPipe(name string) bool {
	var stat unix.Stat_t
	return unix.Stat(name, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
}

// openMode converts perm to the mode that open(2) takes.
func openMode(perm fs.FileMode) uint32 {
	mode := uint32(perm.Perm())
	if perm&fs.ModeSetuid != 0 {
		mode |= unix.S_ISUID
	}
	if perm&fs.ModeSetgid != 0 {
		mode |= unix.S_ISGID
	}
	if perm&fs.ModeSticky != 0 {
		mode |= unix.S_ISVTX
	}
	return mode
}

// identify asks the kernel what has been opened, and sets mode, size and kind.
func (f *File) identify() {
	var stat unix.Stat_t
	_ = unix.Fstat(f.d.fd, &stat)
	f.mode = stat.Mode & unix.S_IFMT
	regular, err := f.mode == unix.S_IFREG, error(nil)
	if regular {
		f.size = stat.Size
	}
	if f.size == 0 { // what has a size has positions
		_, err = unix.Seek(f.d.fd, 0, io.SeekCurrent)
	}
	switch {
	case err == nil && (regular || f.mode == unix.S_IFBLK):
		f.kind = kindDisk
	case err == nil || regular:
		f.kind = kindOther
	default:
		f.kind = kindStream
	}
}

// carryOut hands op, an operation on p, to the caller's engine, if the caller is a fiber and the engine does files.
// Otherwise it calls call, on another goroutine if the caller is a fiber. It tries again after EINTR, and with another
// engine after ErrClosed. After EAGAIN of an engine, but for an open, it calls call, whose EAGAIN it returns. It blocks
// its caller, but not a fiber's thread. The error is the kernel's, Here's or CanPark's.
func carryOut(s *uring.Engines, op uring.Entry, p []byte, call func() (int, error)) (int, error) {
	ring := park.Current() != nil
	for {
		e, err := s.Here()
		if err != nil {
			return -1, err
		}
		n, byRing := -1, ring && e.Can(uring.Files)
		if byRing {
			var c uring.Completion
			if c, err = e.Do(op, p); errors.Is(err, uring.ErrClosed) {
				continue
			}
			if n = int(c.Result); err == nil {
				err = c.Err()
			}
		} else if err = park.CanPark(); err == nil { // Do looks itself
			n, err = fibersync.Call(call)
		}
		if err != unix.EINTR && (err != unix.EAGAIN || op.Op == uring.OpOpen || !byRing) {
			return n, err
		}
		ring = ring && err == unix.EINTR // after EAGAIN, a system call tells whether the file says so
	}
}

// ok is false for nil and for the zero value, whose methods return os.ErrInvalid, as in package os.
func (f *File) ok() bool { return f != nil && f.d.engines != nil }

// Name is the name by which the file was opened.
func (f *File) Name() string { return f.name }

// Read implements io.Reader. It reads at the file's position. A pipe or terminal has none: Read waits for bytes.
func (f *File) Read(p []byte) (int, error) {
	if !f.ok() {
		return 0, os.ErrInvalid
	}
	s := &f.d.reading
	if err := s.lock(); err != nil {
		return 0, f.failed("read", err)
	}
	defer s.unlock()
	if len(p) == 0 {
		return 0, nil
	}
	n, err := f.transfer(s, uring.OpRead, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, f.failed("read", err)
}

// Write implements io.Writer. It writes at the file's position, or at the end if the file was opened with O_APPEND.
func (f *File) Write(p []byte) (n int, err error) {
	if !f.ok() {
		return 0, os.ErrInvalid
	}
	s := &f.d.writing
	if f.kind != kindStream { // it has one position for both
		s = &f.d.reading
	}
	if err := s.lock(); err != nil {
		return 0, f.failed("write", err)
	}
	defer s.unlock()
	if len(p) == 0 { // does not block; the kernel refuses a file that is not open for writing
		_, err := unix.Write(f.d.fd, nil)
		return 0, f.failed("write", err)
	}
	for n < len(p) && err == nil {
		m := 0
		if m, err = f.transfer(s, uring.OpWrite, p[n:]); m == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		n += m
	}
	if n > 0 && f.kind == kindDisk && f.appends() { // only the kernel knows where p ends
		whence := io.SeekCurrent
		if err != nil {
			whence = io.SeekEnd // after a part of p, a ring leaves the kernel's position where it was
		}
		f.position, _ = unix.Seek(f.d.fd, 0, whence)
	}
	return n, f.failed("write", err)
}

func (f *File) appends() bool { return f.flag&os.O_APPEND != 0 }

// transfer reads into p or writes p once; p must not be empty. It waits for the first byte, and returns how many bytes
// it has moved: 0 at the end of a file. The caller is the user of s: d.writing to write a stream, else d.reading.
func (f *File) transfer(s *side, op uring.Op, p []byte) (int, error) {
	if f.kind == kindStream {
		return f.transferStream(s, op, p)
	}
	p = p[:min(len(p), uring.MostAtOnce)]
	at := int64(uring.OwnPosition)
	if f.kind == kindDisk && !(op == uring.OpWrite && f.appends()) {
		at = f.position
	}
	entry := uring.Entry{Op: op, FD: int32(f.d.fd), Length: uint32(len(p)), Offset: uint64(at)}
	if op == uring.OpWrite {
		sending(p)
	}
	n, err := carryOut(f.d.engines, entry, p, func() (int, error) { return byCall(f.d.fd, op, p, at) })
	if err != nil {
		return 0, err
	}
	if op == uring.OpRead {
		received(p[:n])
	}
	if f.kind == kindDisk {
		f.position += int64(n)
	}
	return n, nil
}

// transferStream is transfer for kindStream: the engine waits until the system call would not block.
func (f *File) transferStream(s *side, op uring.Op, p []byte) (int, error) {
	unfit := os.O_WRONLY
	if op == uring.OpWrite {
		unfit = os.O_RDONLY
	}
	if f.flag&unix.O_ACCMODE == unfit { // it would never be ready
		return 0, unix.EBADF
	}
	for {
		if err := s.poll(); err != nil {
			return 0, err
		}
		n, err := byCall(f.d.fd, op, p, uring.OwnPosition)
		if err != unix.EAGAIN && err != unix.EINTR {
			return n, err
		}
	}
}

// byCall reads or writes p once by an ordinary system call, which may block the thread.
func byCall(fd int, op uring.Op, p []byte, offset int64) (n int, err error) {
	switch {
	case op == uring.OpRead && offset == uring.OwnPosition:
		n, err = unix.Read(fd, p)
	case op == uring.OpRead:
		n, err = unix.Pread(fd, p, offset)
	case offset == uring.OwnPosition:
		n, err = unix.Write(fd, p)
	default:
		n, err = unix.Pwrite(fd, p, offset)
	}
	return max(n, 0), err
}

// Seek implements io.Seeker. The kernel finds the new position: it knows where the file, its data and its holes end.
func (f *File) Seek(offset int64, whence int) (at int64, err error) {
	if !f.ok() {
		return 0, os.ErrInvalid
	}
	if f.kind == kindStream && !f.d.isClosing() {
		return 0, f.failed("seek", unix.ESPIPE)
	}
	if err := f.d.reading.lock(); err != nil {
		return 0, f.failed("seek", err)
	}
	defer f.d.reading.unlock()
	if f.kind == kindDisk && whence == io.SeekCurrent {
		_, err = unix.Seek(f.d.fd, f.position, io.SeekStart)
	}
	if err == nil {
		at, err = unix.Seek(f.d.fd, offset, whence)
	}
	if err != nil {
		return 0, f.failed("seek", err)
	}
	f.position = at
	return at, nil
}

// Stat describes the file.
func (f *File) Stat() (info fs.FileInfo, err error) {
	if !f.ok() {
		return nil, os.ErrInvalid
	}
	err = f.d.control("fcntl", func(fd int) error {
		another, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		file := os.NewFile(uintptr(another), f.name)
		defer file.Close()
		info, err = file.Stat()
		return err
	})
	return info, f.failed("stat", err)
}

// Close makes calls that wait for a pipe, a terminal or their turn return fs.ErrClosed, waits for all others, and
// closes the descriptor. close(2) may block the thread if the file is open for reading only, or no engine does files.
func (f *File) Close() error {
	if !f.ok() {
		return os.ErrInvalid
	}
	return f.failed("close", f.d.close())
}

// shut closes the descriptor, which must not be in use. If the file is open for writing, close(2) may block: a fiber
// then leaves it to its engine, if that does files. In all other cases the caller's thread makes the call.
func (f *File) shut(fd int) error {
	if park.Current() != nil && f.flag&unix.O_ACCMODE != unix.O_RDONLY {
		if e, err := f.d.engines.Here(); err == nil && e.Can(uring.Files) {
			if c, err := e.Do(uring.Entry{Op: uring.OpClose, FD: int32(fd)}, nil); err == nil {
				return c.Err()
			}
		}
	}
	return unix.Close(fd)
}

// failed wraps err in a *fs.PathError, unless it is one, nil or io.EOF. For net.ErrClosed it wraps fs.ErrClosed.
func (f *File) failed(operation string, err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, net.ErrClosed):
		err = fs.ErrClosed
	}
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return err
	}
	return &fs.PathError{Op: operation, Path: f.name, Err: err}
}
