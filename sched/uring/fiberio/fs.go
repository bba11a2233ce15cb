package fiberio

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
	"fiberlab/sched/uring"
)

// ReadFile returns the contents of a file, as os.ReadFile does. It blocks its caller: a fiber, not its thread. It reads
// a file on a disk into memory of its size. From a regular file of up to 1 MB, a fiber may read only as many bytes as
// the file had when it was opened. When ctx is done, a read of a pipe ends, and no other begins: the error wraps
// context.Cause(ctx). OpenFile and File.Read have the other errors.
func ReadFile(ctx context.Context, s *uring.Engines, name string) ([]byte, error) {
	fd, err := open(ctx, s, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	data, whole := readSmall(ctx, s, fd)
	if whole {
		return data, nil
	}
	f := newFile(s, name, os.O_RDONLY, fd)
	defer f.Close()
	f.position = int64(len(data))
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	}
	data, err = f.readAll(data)
	if errors.Is(err, fs.ErrClosed) {
		err = &fs.PathError{Op: "read", Path: name, Err: context.Cause(ctx)}
	}
	return data, err
}

// readSmall is ReadFile for a fiber and a regular file of up to 1 MB, which is most quickly read without a File. The
// fiber's engine reads fd by one request; then the fiber closes fd. If whole is false, fd is still open, and a File
// must read what follows data. That is so if fd is no such file, ctx is done, or not as many bytes came as it has. Some
// file systems refuse the read with EAGAIN, since fd is in non-blocking mode.
func readSmall(ctx context.Context, s *uring.Engines, fd int) (data []byte, whole bool) {
	e, err := s.Here()
	if err != nil || park.Current() == nil || !e.Can(uring.Files) || ctx.Err() != nil {
		return nil, false
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size == 0 || stat.Size > 1<<20 {
		return nil, false
	}
	data = make([]byte, stat.Size)
	c, err := e.Do(uring.Entry{Op: uring.OpRead, FD: int32(fd), Length: uint32(len(data))}, data)
	data = data[:max(c.Result, 0)]
	received(data)
	if err != nil || int64(len(data)) != stat.Size {
		return data, false
	}
	_ = unix.Close(fd)
	return data, true
}

// readAll appends the rest of the file to data, which has what comes before. If that is nothing, readAll makes memory
// for the size that the file had when it was opened. A read that ends there, with room for more, has found the end.
func (f *File) readAll(data []byte) ([]byte, error) {
	if len(data) == 0 {
		data = make([]byte, 0, max(512, f.size+1)) // one more byte finds the end
	}
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF || err == nil && f.size > 0 && int(f.size) == len(data) && len(data) < cap(data) {
			return data, nil
		}
		if err != nil {
			return data, err
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
	}
}

// FS returns the tree of files below dir, as os.DirFS does: names that lead out of it are refused, but symbolic links
// in it are followed wherever they lead. It also implements fs.ReadFileFS, fs.ReadDirFS and fs.StatFS. What it opens is
// a *File, or an *os.File for a directory: the kernel reads directories only by a system call, which no driver makes.
// In a fiber that must not block, Stat and ReadDir panic with an error that wraps sched.ErrInWait.
func FS(s *uring.Engines, dir string) fs.FS { return tree{os.DirFS(dir), s, dir} }

// tree is what FS returns. Engines open and read its files; plain does all else, for a fiber on a goroutine.
type tree struct {
	plain   fs.FS
	engines *uring.Engines
	dir     string
}

var (
	_ fs.ReadFileFS = tree{}
	_ fs.ReadDirFS  = tree{}
	_ fs.StatFS     = tree{}
)

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	if t.dir == "" || !fs.ValidPath(name) {
		return t.plain.Open(name) // returns why not
	}
	f, err := Open(context.Background(), t.engines, t.dir+"/"+name)
	if err != nil {
		return nil, named(err, name) // not a nil *File
	}
	if f.mode != unix.S_IFDIR {
		return f, nil
	}
	_ = f.Close()
	return fibersync.Call(func() (fs.File, error) { return t.plain.Open(name) })
}

// ReadFile implements fs.ReadFileFS.
func (t tree) ReadFile(name string) ([]byte, error) {
	if t.dir == "" || !fs.ValidPath(name) {
		return fs.ReadFile(t.plain, name) // returns why not
	}
	data, err := ReadFile(context.Background(), t.engines, t.dir+"/"+name)
	return data, named(err, name)
}

// named returns err. If err is a *fs.PathError, named first sets its path to name, the file's name in the tree.
func named(err error, name string) error {
	if p, ok := err.(*fs.PathError); ok {
		p.Path = name
	}
	return err
}

// ReadDir implements fs.ReadDirFS.
func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	return fibersync.Call(func() ([]fs.DirEntry, error) { return fs.ReadDir(t.plain, name) })
}

// Stat implements fs.StatFS.
func (t tree) Stat(name string) (fs.FileInfo, error) {
	return fibersync.Call(func() (fs.FileInfo, error) { return fs.Stat(t.plain, name) })
}
