package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// CopyOptions says how to copy.
type CopyOptions struct {
	Setup
	Recursive bool // a folder is copied with all that is below it

	// Sized, if not nil, is called once by Copy itself, before the first byte is copied, with the size of all that is to be copied.
	Sized func(bytes int64)
	// Counted, if not nil, is called with how many bytes have been copied since the last call. The tasks call it, several at once.
	Counted func(bytes int64)
}

// Copied is what has been copied.
type Copied struct {
	Figures
	Files       int64 `json:"files"`       // that are complete
	Directories int   `json:"directories"` // that were made, or were there
	Links       int   `json:"links"`
	Bytes       int64 `json:"bytes"` // those of files that have failed included
}

// PlanError is the error of a copy or a search that cannot begin, because a path is not fit for it. It wraps Err, if that is not nil.
type PlanError struct {
	Path, Why string
	Err       error // or nil
}

func (e *PlanError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Why) }
func (e *PlanError) Unwrap() error { return e.Err }

// copyChunk is how much of a file is read and written at a time.
const copyChunk = 256 << 10

// Copy copies from to to, or into it if it is a folder, with its permissions. With Recursive it copies what is below a folder as well; links are copied as
// links. Each file has its name when all of it is there: until then it has another one beside it, and that is removed if the copy fails or ctx is done. Copy blocks its
// caller, which should be a goroutine: a fiber would block its thread. It returns a *PlanError, and has done nothing, if from or to are not fit for it; and no
// figures with the error of sched.New if there can be no engines. Other errors do not keep it from copying the
// other files, but the end of ctx does, and the lack of workers (sched.ErrNoWorkers). All errors are joined, context.Cause(ctx) among them if ctx was done, and stand beside the figures.
func Copy(ctx context.Context, from, to string, o CopyOptions) (*Copied, error) {
	plan, err := planCopy(ctx, from, to, o.Recursive)
	if err != nil {
		return nil, err
	}
	if o.Sized != nil {
		o.Sized(plan.bytes)
	}
	var bytes atomic.Int64
	progress := func(n int64) {
		bytes.Add(n)
		if o.Counted != nil {
			o.Counted(n)
		}
	}
	c, err := o.Setup.crew()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	copied := &Copied{}
	errs := plan.makeDirectories(copied)

	var mu sync.Mutex // for errs
	var next, files atomic.Int64
	err = c.run(ctx, len(plan.files), func() func() bool {
		buffer := make([]byte, copyChunk)
		return func() bool {
			i := int(next.Add(1)) - 1
			if i >= len(plan.files) {
				return false
			}
			err := plan.files[i].copy(ctx, c, buffer, progress)
			if err == nil {
				files.Add(1)
			} else if ctx.Err() == nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
			return true
		}
	})
	if err == nil {
		errs = append(errs, plan.finishDirectories()...)
	}
	err = errors.Join(err, errors.Join(errs...), c.end())
	copied.Files, copied.Bytes, copied.Figures = files.Load(), bytes.Load(), c.figures
	copied.Seconds = time.Since(start).Seconds()
	return copied, err
}

// oneFile is a regular file that is to be copied.
type oneFile struct {
	from, to string
	mode     fs.FileMode
	into     bool // to is a device or a pipe: the bytes go into it
}

// copy copies the file by way of another one beside the new one.
func (f *oneFile) copy(ctx context.Context, c *crew, buffer []byte, progress func(int64)) error {
	in, err := c.open(ctx, f.from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	defer context.AfterFunc(ctx, func() { _ = in.Close() })() // ends a read that waits
	if f.into {
		return f.copyInto(ctx, c, in, buffer, progress)
	}
	beside := temporaryName(f.to)
	out, err := c.open(ctx, beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyBytes(ctx, out, in, buffer, progress)
	err = errors.Join(err, out.Close())
	return calling(func() error {
		if err == nil {
			err = os.Chmod(beside, f.mode)
		}
		if err == nil {
			err = os.Rename(beside, f.to)
		}
		if err != nil {
			return errors.Join(err, os.Remove(beside))
		}
		return nil
	})
}

func (f *oneFile) copyInto(ctx context.Context, c *crew, in file, buffer []byte, progress func(int64)) error {
	out, err := c.open(ctx, f.to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(copyBytes(ctx, out, in, buffer, progress), out.Close())
}

func copyBytes(ctx context.Context, out, in file, buffer []byte, progress func(int64)) error {
	for ctx.Err() == nil {
		n, err := in.Read(buffer)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return err
			}
			progress(int64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return context.Cause(ctx)
}

var temporaries atomic.Uint64

// temporaryName is a name beside name that no other copy uses.
func temporaryName(name string) string {
	return filepath.Join(filepath.Dir(name), fmt.Sprintf(".fiberlab-%d-%d.part", os.Getpid(), temporaries.Add(1)))
}
