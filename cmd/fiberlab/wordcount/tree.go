package wordcount

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

// Opener opens a file for reading. A nil Opener is os.Open.
type Opener func(path string) (io.ReadCloser, error)

func (o Opener) orOS() Opener {
	if o != nil {
		return o
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(path) }
}

// File is one text file.
type File struct {
	Path string
	Size int64 // bytes, when the tree was walked; the file may have changed since
}

// Unreadable is a file or directory that could not be read to its end.
type Unreadable struct {
	Path string
	Err  error
}

// String is the path and the reason, without repeating the path.
func (u Unreadable) String() string { return u.Path + ": " + u.Reason() }

// Reason is the text of the error without the operation and the path.
func (u Unreadable) Reason() string { return fmt.Sprint(reason(u.Err)) }

// reason is what an error of package os wraps, or any other error itself.
func reason(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// Tree is what lies below one directory.
type Tree struct {
	Root       string       // absolute, without symbolic links
	Files      []File       // the text files, in lexical order of their paths
	Bytes      int64        // the sum of their sizes
	Other      int          // entries that are not text: binary files, symbolic links, devices, pipes, sockets
	Unreadable []Unreadable // files that could not be opened or read, directories that could not be listed
}

// Walk finds the text files below dir. A file is text if its first 8 KB are UTF-8 without a NUL. Symbolic
// links are not followed, except dir itself: links that form a loop do no harm, and every file counts
// once. Walk opens the files by open; nil means os.Open. It blocks until it has seen all of them, or until
// ctx is done. Its errors are ctx's cause, and a *DirectoryError if dir itself cannot be walked.
func Walk(ctx context.Context, dir string, open Opener) (*Tree, error) {
	root, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	open = open.orOS()
	t := &Tree{Root: root}
	head := make([]byte, headSize)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			t.Unreadable = append(t.Unreadable, Unreadable{path, err})
		case entry.IsDir():
		case !entry.Type().IsRegular():
			t.Other++
		default:
			t.sort(path, entry, open, head)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// sort decides whether one regular file is text, other or unreadable.
func (t *Tree) sort(path string, entry fs.DirEntry, open Opener, head []byte) {
	text, err := hasTextHead(path, open, head)
	if err != nil {
		t.Unreadable = append(t.Unreadable, Unreadable{path, err})
		return
	}
	if !text {
		t.Other++
		return
	}
	file := File{Path: path}
	if info, err := entry.Info(); err == nil {
		file.Size = info.Size()
	}
	t.Files = append(t.Files, file)
	t.Bytes += file.Size
}

// hasTextHead reads the head of the file at path into buf and reports whether it is text.
func hasTextHead(path string, open Opener, buf []byte) (bool, error) {
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

// DirectoryError is the error of a directory that cannot be walked.
type DirectoryError struct {
	Dir string
	Err error // why; errors.Is compares it with fs.ErrNotExist and the like
}

func (e *DirectoryError) Error() string {
	return fmt.Sprintf("directory %q: %v: name one that exists and may be listed", e.Dir, e.Err)
}

func (e *DirectoryError) Unwrap() error { return e.Err }

// resolve returns the absolute path of the directory that dir names, through symbolic links.
func resolve(dir string) (string, error) {
	root := dir
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil {
		root, err = filepath.Abs(dir)
	}
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err == nil {
		_, err = os.ReadDir(root)
	}
	if err != nil {
		return "", &DirectoryError{dir, reason(err)}
	}
	return root, nil
}
