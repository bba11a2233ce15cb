package fiberio

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"fiberlab/sched/uring"
	"fiberlab/sched/uring/uringtest"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// A file that has changed its size since it was opened is read to the end that it has now.
func TestReadAllOfAFileThatHasChanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	uringtest.EachCaller(t, uring.Options{}, func(t *testing.T, engines *uring.Engines, run func(...func())) {
		run(func() {
			for _, was := range []int{0, 1, 511, 512, 4096, 100_000} {
				for _, is := range []int{0, was / 2, was, was + 1, 3 * was} {
					assert.NoError(t, os.WriteFile(name, bytes.Repeat([]byte{1}, was), 0o600))
					f, err := Open(context.Background(), engines, name)
					if !assert.NoError(t, err) {
						return
					}
					now := bytes.Repeat([]byte{2}, is)
					assert.NoError(t, os.WriteFile(name, now, 0o600))
					data, err := f.readAll(nil)
					assert.NoError(t, err)
					assert.True(t, bytes.Equal(now, data), "of %d bytes when opened, and %d now: %d", was, is, len(data))
					assert.NoError(t, f.Close())
				}
			}
		})
	})
}

// The EAGAIN of a system call is the caller's, as in package os: carryOut does not repeat the call.
func TestCarryOutReturnsEAGAIN(t *testing.T) {
	engines, results := uring.New(uring.Options{}), []error{unix.EAGAIN, nil}
	_, err := carryOut(engines, uring.Entry{Op: uring.OpRead}, nil, func() (_ int, err error) {
		err, results = results[0], results[1:]
		return 0, err
	})
	assert.Equal(t, unix.EAGAIN, err)
	assert.NoError(t, engines.Close())
}
