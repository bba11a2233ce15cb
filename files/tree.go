package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// plan is what a copy is to make.
type plan struct {
	directories []oneDirectory // each before what is in it
	links       []oneLink
	files       []oneFile
	bytes       int64
	errs        []error // of what could not be listed, or is not fit to be copied
}

type oneDirectory struct {
	path string
	mode fs.FileMode
}

type oneLink struct{ target, path string }

// reasonOf is the text of an error of package os without the operation and the path.
func reasonOf(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// planCopy looks at what there is, and changes nothing. It returns a *PlanError, or context.Cause(ctx).
func planCopy(ctx context.Context, from, to string, recursive bool) (*plan, error) {
	source, err := os.Stat(from)
	if err != nil {
		return nil, &PlanError{from, reasonOf(err), err}
	}
	if source.IsDir() && !recursive {
		return nil, &PlanError{from, "it is a directory: give -r to copy it with all that is below it", syscall.EISDIR}
	}
	if target, err := os.Stat(to); err == nil && target.IsDir() {
		base, err := filepath.Abs(from)
		if err != nil {
			return nil, &PlanError{from, reasonOf(err), err}
		}
		if source.IsDir() && os.SameFile(source, target) {
			return nil, &PlanError{to, "it is the directory that is to be copied: name another one", nil}
		}
		to = filepath.Join(to, filepath.Base(base))
	} else if parent, err := os.Stat(filepath.Dir(to)); err != nil || !parent.IsDir() {
		return nil, &PlanError{filepath.Dir(to), "there is no such directory: make it first", fs.ErrNotExist}
	}
	if real, err := filepath.EvalSymlinks(to); err == nil {
		to = real // as cp does, a link stays, and the file that it names is replaced
	}
	p := &plan{}
	target, err := os.Stat(to)
	exists := err == nil
	switch {
	case exists && os.SameFile(source, target):
		return nil, &PlanError{to, "it is the same file as " + from + ": name another one", nil}
	case exists && source.IsDir() && !target.IsDir():
		return nil, &PlanError{to, "it is a file, and " + from + " is a directory: name a directory", syscall.ENOTDIR}
	case exists && !source.IsDir() && target.IsDir():
		return nil, &PlanError{to, "it is a directory, and " + from + " is a file: remove it, or name another one", syscall.EISDIR}
	case source.IsDir():
		return p, p.addTree(ctx, from, to)
	}
	p.files = []oneFile{{from: from, to: to, mode: source.Mode().Perm(), into: exists && !target.Mode().IsRegular()}}
	p.bytes = source.Size()
	return p, nil
}

// addTree adds all that is below from.
func (p *plan) addTree(ctx context.Context, from, to string) error {
	if inside(from, to) {
		return &PlanError{to, "it is in the directory that is to be copied: name one outside of it", nil}
	}
	if real, err := filepath.EvalSymlinks(from); err == nil {
		from = real // WalkDir does not follow it
	}
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			p.errs = append(p.errs, err)
			return nil
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return p.add(path, filepath.Join(to, relative), entry)
	})
}

func (p *plan) add(from, to string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		p.errs = append(p.errs, err)
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		p.directories = append(p.directories, oneDirectory{to, mode.Perm()})
	case mode.IsRegular():
		p.files = append(p.files, oneFile{from: from, to: to, mode: mode.Perm()})
		p.bytes += info.Size()
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			p.errs = append(p.errs, err)
			return nil
		}
		p.links = append(p.links, oneLink{target, to})
	default:
		p.errs = append(p.errs, &fs.PathError{Op: "copy", Path: from, Err: errors.New("it is no file, directory or link")})
	}
	return nil
}

// inside tells whether to is below from, or would be.
func inside(from, to string) bool {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return false
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(to))
	if err != nil {
		return false
	}
	from, _ = filepath.Abs(from)
	parent, _ = filepath.Abs(parent)
	relative, err := filepath.Rel(from, parent)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// makeDirectories makes the directories, so that they can be written to, and the links. It returns what went wrong so far.
func (p *plan) makeDirectories(c *Copied) (errs []error) {
	errs = p.errs
	for _, d := range p.directories {
		err := os.Mkdir(d.path, d.mode|0o700)
		if errors.Is(err, fs.ErrExist) {
			if info, statErr := os.Stat(d.path); statErr == nil && info.IsDir() {
				err = nil
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.Directories++
	}
	for _, l := range p.links {
		if err := os.Symlink(l.target, l.path); err != nil {
			errs = append(errs, err)
			continue
		}
		c.Links++
	}
	return errs
}

// finishDirectories gives the directories their permissions, the innermost first.
func (p *plan) finishDirectories() (errs []error) {
	for i := len(p.directories) - 1; i >= 0; i-- {
		d := p.directories[i]
		if err := os.Chmod(d.path, d.mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errs
}
