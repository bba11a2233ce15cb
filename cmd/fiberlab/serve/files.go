package serve

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Files is a server of net/http that has the regular files and folders below dir. Links that lead out of dir are
// followed. Pipes, sockets and devices are forbidden to clients. If dir is no folder, Run returns a *SetupError.
func Files(dir string) Program {
	return httpProgram{"files", func(*site) (http.Handler, error) {
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, wrongFolder(dir, innermost(err))
		case !info.IsDir():
			return nil, wrongFolder(dir, errors.New("not a directory"))
		}
		return http.FileServer(folder(dir)), nil
	}}
}

func wrongFolder(dir string, err error) error {
	return &SetupError{strconv.Quote(dir), err, "name a directory"}
}

// folder is the tree of files below the directory of that name. Package os opens and reads them: net/http does so on
// goroutines, which have nothing to gain by an engine. A folder opens neither a pipe, which may wait for its other end
// until the server is killed, nor a device, which may do more than to be read. net/http answers 403 for
// fs.ErrPermission.
type folder string

// Open implements http.FileSystem by a *os.File, which the kernel can send. What name stands for may change between the
// look at it and open: so open does not wait, whatever it meets, and the open file is looked at again.
func (f folder) Open(name string) (http.File, error) {
	path := filepath.Join(string(f), filepath.Clean("/"+name))
	info, err := os.Stat(path)
	if errors.Is(err, unix.ENOTDIR) { // net/http answers 404
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	if !isServed(info) {
		return nil, fs.ErrPermission
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !isServed(info) {
		err = fs.ErrPermission
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func isServed(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }
