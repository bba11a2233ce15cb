package fiberio

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
)

// FS returns the tree of files below dir, as os.DirFS does: names that lead out of it are refused, but symbolic links
// in it are followed wherever they lead. It also implements fs.ReadFileFS, fs.ReadDirFS, fs.StatFS and fs.SubFS. Each
// file that is opened is a *File.
func FS(s *uring.Engines, dir string) fs.FS { return tree{s, dir} }

// tree implements fs.FS and its extensions.
type tree struct {
	engines *uring.Engines
	dir     string
}

var (
	_ fs.ReadFileFS  = tree{}
	_ fs.ReadDirFS   = tree{}
	_ fs.StatFS      = tree{}
	_ fs.SubFS       = tree{}
	_ fs.ReadDirFile = (*File)(nil)
)

// path is where the file of that name is.
func (t tree) path(operation, name string) (string, error) {
	if t.dir == "" {
		return "", &fs.PathError{Op: operation, Path: name, Err: errNoDirectory}
	}
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: operation, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(t.dir, filepath.FromSlash(name)), nil
}

// named has an error say the name by which the caller knows the file.
func named(err error, name string) error {
	if p, ok := err.(*fs.PathError); ok {
		p.Path = name
	}
	return err
}

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	path, err := t.path("open", name)
	if err != nil {
		return nil, err
	}
	f, err := Open(context.Background(), t.engines, path)
	if err != nil {
		return nil, named(err, name) // not a nil *File
	}
	return f, nil
}

// ReadFile implements fs.ReadFileFS.
func (t tree) ReadFile(name string) ([]byte, error) {
	path, err := t.path("readfile", name)
	if err != nil {
		return nil, err
	}
	data, err := ReadFile(context.Background(), t.engines, path)
	return data, named(err, name)
}

// ReadDir implements fs.ReadDirFS.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := t.path("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := fibersync.Call(func() ([]fs.DirEntry, error) { return os.ReadDir(path) })
	return entries, named(err, name)
}

// Stat implements fs.StatFS.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	path, err := t.path("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := fibersync.Call(func() (fs.FileInfo, error) { return os.Stat(path) })
	return info, named(err, name)
}

// Sub implements fs.SubFS.
func (t tree) Sub(name string) (fs.FS, error) {
	path, err := t.path("sub", name)
	if err != nil {
		return nil, err
	}
	if name == "." {
		return t, nil
	}
	return tree{t.engines, path}, nil
}

// errNoDirectory is the error of FS("").
var errNoDirectory error = syscall.ENOENT

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
			if d.listed, err = f.another(); err != nil {
				return f.failed("readdir", err)
			}
		}
		entries, err = d.listed.ReadDir(n)
		return err
	})
	return entries, err
}

// another returns another descriptor of the same open file, for calls of package os.
func (f *File) another() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(f.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.name), nil
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
