// Files copies a folder. A task copies each file by the engine of its worker: by io_uring, which works at many
// requests at a time, or by threads where the kernel has no io_uring. A task that waits for a disk leaves its
// worker to others.
//
// It prints:
//
//	copied 40 files, 3276780 bytes
//	the copy is the same: true
//
// `go run ./examples/files FROM TO` copies the folder FROM to TO, which must not exist.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"sync/atomic"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// mostOpen is how many files are copied at a time.
const mostOpen = 32

// copyFolder copies what is below from, but for links and devices, and returns how many files it has copied, of how
// many bytes. The first error ends it.
func copyFolder(engines *uring.Engines, from, to string) (files, size int64, err error) {
	source, errFrom := filepath.Abs(from)
	target, errTo := filepath.Abs(to)
	if err := errors.Join(errFrom, errTo); err != nil {
		return 0, 0, err
	}
	if below, err := filepath.Rel(source, target); err == nil && filepath.IsLocal(below) {
		return 0, 0, fmt.Errorf("%s is in %s: choose a folder outside of it", to, from)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var copies fibersync.WaitGroup
	var copied, written atomic.Int64
	free := fibersync.NewSemaphore(mostOpen)
	err = fs.WalkDir(fiberio.FS(engines, from), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o777)
		case !entry.Type().IsRegular():
			return nil
		}
		if err := free.AcquireContext(ctx, 1); err != nil {
			return err
		}
		copies.Go(func() {
			defer free.Release(1)
			n, err := copyFile(ctx, engines, filepath.Join(from, name), filepath.Join(to, name))
			if err != nil {
				cancel(err)
				return
			}
			copied.Add(1)
			written.Add(n)
		})
		return nil
	})
	copies.Wait()
	if err == nil {
		err = context.Cause(ctx) // nil unless a copy has failed
	}
	return copied.Load(), written.Load(), err
}

// copyFile copies one file, and returns how many bytes it has.
func copyFile(ctx context.Context, engines *uring.Engines, from, to string) (n int64, err error) {
	source, err := fiberio.Open(ctx, engines, from)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	copied, err := fiberio.OpenFile(ctx, engines, to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(copied, source)
	return n, errors.Join(err, copied.Close()) // an error of a write may come as late as at the end
}

func main() {
	engines := uring.New(uring.Options{})
	cfg := sched.AllCores()
	engines.Attach(&cfg) // each worker has an engine
	err := sched.Run(cfg, func() {
		if len(os.Args) == 3 {
			files, size, err := copyFolder(engines, os.Args[1], os.Args[2])
			check(err)
			fmt.Printf("copied %d files, %d bytes\n", files, size)
			return
		}
		check(copySample(engines))
	})
	check(errors.Join(err, engines.Close()))
}

// copySample copies a folder that it makes, and compares the copy.
func copySample(engines *uring.Engines) error {
	dir, err := os.MkdirTemp("", "fiberlab-files-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.MkdirAll(filepath.Join(from, "below"), 0o777); err != nil {
		return err
	}
	name := func(i int) string { return filepath.Join([]string{".", "below"}[i%2], fmt.Sprint(i)) }
	for i := range 40 {
		err := os.WriteFile(filepath.Join(from, name(i)), bytes.Repeat([]byte{byte(i)}, i*4201), 0o666)
		if err != nil {
			return err
		}
	}
	files, n, err := copyFolder(engines, from, to)
	if err != nil {
		return err
	}
	same := true
	for i := range 40 {
		copied, err := fiberio.ReadFile(context.Background(), engines, filepath.Join(to, name(i)))
		same = same && err == nil && bytes.Equal(copied, bytes.Repeat([]byte{byte(i)}, i*4201))
	}
	fmt.Printf("copied %d files, %d bytes\nthe copy is the same: %v\n", files, n, same)
	return nil
}

// check ends the program if err is an error.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
