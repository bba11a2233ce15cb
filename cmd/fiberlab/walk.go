package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"
)

// headSize is how many bytes of a file decide whether it is text.
const headSize = 8 << 10

// opener opens a file for reading. It is os.Open, except in tests that need a file to fail.
type opener func(path string) (io.ReadCloser, error)

func openFile(path string) (io.ReadCloser, error) { return os.Open(path) }

// textFile is one text file of a tree.
type textFile struct {
	path string
	size int64 // bytes, when the tree was walked; the file may have changed since
}

// unreadable is a file or directory that could not be read to its end.
type unreadable struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// newUnreadable drops the operation and the path that the error of a file operation repeats.
func newUnreadable(path string, err error) unreadable {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return unreadable{Path: path, Error: err.Error()}
}

// tree is what lies below one directory.
type tree struct {
	root       string       // absolute, without symbolic links
	text       []textFile   // in lexical order of their paths
	bytes      int64        // the sum of their sizes
	other      int          // entries that are not text: binary files, symbolic links, devices, pipes, sockets
	unreadable []unreadable // files that could not be opened or read, directories that could not be listed
}

// walk sorts the files below dir. Symbolic links are not followed, dir itself excepted, so links that
// form a loop do no harm and every file counts once. The only errors are those of dir itself (a
// badDirectory) and of ctx.
func walk(ctx context.Context, dir string, open opener) (tree, error) {
	root, err := resolve(dir)
	if err != nil {
		return tree{}, err
	}
	t := tree{root: root}
	head := make([]byte, headSize)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			t.unreadable = append(t.unreadable, newUnreadable(path, err))
		case entry.IsDir():
		case !entry.Type().IsRegular():
			t.other++
		default:
			t.sort(path, entry, open, head)
		}
		return nil
	})
	return t, err
}

// sort files one regular file under text, other or unreadable.
func (t *tree) sort(path string, entry fs.DirEntry, open opener, head []byte) {
	text, err := hasTextHead(path, open, head)
	if err != nil {
		t.unreadable = append(t.unreadable, newUnreadable(path, err))
		return
	}
	if !text {
		t.other++
		return
	}
	file := textFile{path: path}
	if info, err := entry.Info(); err == nil {
		file.size = info.Size()
	}
	t.text = append(t.text, file)
	t.bytes += file.size
}

// hasTextHead reads the head of the file at path into buf and reports whether it is text.
func hasTextHead(path string, open opener, buf []byte) (bool, error) {
	f, err := open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	n, err := io.ReadFull(f, buf)
	switch {
	case err == nil:
		return isText(buf, false), nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return isText(buf[:n], true), nil
	}
	return false, err
}

// isText reports whether head, the first bytes of a file or the whole of it, is text: UTF-8 without a
// NUL. Unless it is the whole file, its last rune may be cut short. An empty file is text.
func isText(head []byte, whole bool) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	if !whole {
		for cut := 1; cut < utf8.UTFMax && cut <= len(head); cut++ {
			if tail := head[len(head)-cut:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					head = head[:len(head)-cut]
				}
				break
			}
		}
	}
	return utf8.Valid(head)
}

// badDirectory is the error of a DIR that cannot be walked.
type badDirectory struct {
	dir    string
	reason string
}

func (e *badDirectory) Error() string {
	return fmt.Sprintf("DIR %s: %s", e.dir, e.reason)
}

// resolve returns the absolute path of the directory that dir names, through symbolic links.
func resolve(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		return "", &badDirectory{dir: dir, reason: newUnreadable(dir, err).Error}
	}
	return dir, nil
}

// firstUnreadable tells what could not be read, as a remark to a message; empty if all could.
func (t *tree) firstUnreadable() string {
	if len(t.unreadable) == 0 {
		return ""
	}
	u := t.unreadable[0]
	return fmt.Sprintf(": %d could not be read, among them %s: %s", len(t.unreadable), u.Path, u.Error)
}
