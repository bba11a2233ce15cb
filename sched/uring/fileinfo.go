package uring

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// fileInfo implements fs.FileInfo, as package os does.
type fileInfo struct {
	name string
	stat syscall.Stat_t
}

// describe returns what the kernel says of a descriptor.
func describe(fd int, name string) (*fileInfo, error) {
	info := &fileInfo{name: filepath.Base(name)}
	if err := ignoringEINTR(func() error { return syscall.Fstat(fd, &info.stat) }); err != nil {
		return nil, err
	}
	return info, nil
}

func (i *fileInfo) Name() string       { return i.name }
func (i *fileInfo) Size() int64        { return i.stat.Size }
func (i *fileInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *fileInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i *fileInfo) Sys() any           { return &i.stat }

// Mode implements fs.FileInfo.
func (i *fileInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	switch i.stat.Mode & syscall.S_IFMT {
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	for bit, flag := range map[uint32]fs.FileMode{
		syscall.S_ISUID: fs.ModeSetuid, syscall.S_ISGID: fs.ModeSetgid, syscall.S_ISVTX: fs.ModeSticky,
	} {
		if i.stat.Mode&bit != 0 {
			mode |= flag
		}
	}
	return mode
}
