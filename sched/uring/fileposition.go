package uring

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
)

// ownPosition, as an offset, is the position that the kernel holds for an open file.
const ownPosition = -1

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
		unseen(m.Lock)
	}
}

// next is where the next Read or Write begins: at an offset, or at ownPosition if the File does not hold its position.
// The caller holds reading, unless the file is a stream.
func (f *File) next() int64 {
	if f.shared || f.kindOf() != kindDisk {
		return ownPosition
	}
	return f.position
}

// moved moves the position past n bytes that have been transferred at an offset.
func (f *File) moved(at int64, n int) {
	if at != ownPosition {
		f.position = at + int64(n)
	}
}

// append writes p at the end of a file that was opened with O_APPEND, and moves the position there. Only the kernel
// knows where that is. If it has written a part, its position has not moved: then the file ends with that part, unless
// another process has written more by then.
func (f *File) append(p []byte) (int, error) {
	n, err := f.writeAll(p, ownPosition)
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
	held := f.next() != ownPosition
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
