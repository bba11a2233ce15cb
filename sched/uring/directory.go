package uring

import (
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// directory lists a File that is one. The kernel reads directories only by getdents64(2), which no driver makes.
type directory struct {
	mu     sync.Mutex
	listed *os.File // another descriptor of the same open directory
}

// ReadDir implements fs.ReadDirFile. A fiber leaves the system calls to a goroutine.
func (f *File) ReadDir(n int) (entries []fs.DirEntry, err error) {
	if err := f.use(); err != nil {
		return nil, f.failed("readdir", err)
	}
	defer f.unuse()
	err = blocking(func() (err error) {
		d := &f.directory
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.listed == nil {
			fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return f.failed("readdir", err)
			}
			d.listed = os.NewFile(uintptr(fd), f.name)
		}
		entries, err = d.listed.ReadDir(n)
		return err
	})
	return entries, err
}

// seek moves the position of the directory, and forgets entries that have been read ahead.
func (d *directory) seek(fd int, offset int64, whence int) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.close()
	return unix.Seek(fd, offset, whence)
}

// close is called when no call of ReadDir is under way.
func (d *directory) close() {
	if d.listed != nil {
		_ = d.listed.Close()
		d.listed = nil
	}
}
