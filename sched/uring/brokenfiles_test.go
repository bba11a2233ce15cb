package uring_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refusals are why a disk may refuse a request. The last one is also how a request ends that is cancelled; file systems
// of users return what they like.
var refusals = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.ECANCELED}

const twelve = "twelve bytes"

// A write that ends at any byte has written what comes before it, and the next one goes on there.
func TestWriteEndsAtAnyByte(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	uring.OnBrokenDisk(t, func(engines *uring.Engines, d *uring.BrokenDisk) {
		for _, flag := range []int{os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_APPEND} {
			for _, d.Errno = range refusals {
				for from := range len(twelve) + 2 {
					f, err := fiberio.OpenFile(context.Background(), engines, name, flag|os.O_CREATE|os.O_TRUNC, 0o600)
					if !assert.NoError(t, err) {
						return
					}
					d.From = int64(from)
					written := 0
					for _, part := range []string{twelve[:3], twelve[3:]} {
						n, err := f.Write([]byte(part))
						assert.Equal(t, min(len(part), from-written), n)
						if n < len(part) {
							assert.ErrorIs(t, err, d.Errno)
						} else {
							assert.NoError(t, err)
						}
						written += n
						at, err := f.Seek(0, io.SeekCurrent)
						assert.NoError(t, err)
						assert.EqualValues(t, written, at)
					}
					d.From = math.MaxInt64
					_, err = f.Write([]byte("more"))
					assert.NoError(t, err)
					assert.NoError(t, f.Close())
					data, err := os.ReadFile(name)
					assert.NoError(t, err)
					assert.Equal(t, twelve[:written]+"more", string(data), "%v at byte %d", d.Errno, from)
				}
			}
		}
	})
}

// A read that ends at any byte has read what comes before it, and the next one begins there.
func TestReadEndsAtAnyByte(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(twelve), 0o600))
	uring.OnBrokenDisk(t, func(engines *uring.Engines, d *uring.BrokenDisk) {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_APPEND} {
			for _, d.Errno = range refusals {
				for from := range len(twelve) + 2 {
					f, err := fiberio.OpenFile(context.Background(), engines, name, flag, 0)
					if !assert.NoError(t, err) {
						return
					}
					good := min(from, len(twelve))
					d.From = int64(from)
					data, err := io.ReadAll(f)
					assert.Equal(t, twelve[:good], string(data))
					if good < len(twelve) {
						assert.ErrorIs(t, err, d.Errno)
					} else {
						assert.NoError(t, err)
					}
					d.From = math.MaxInt64
					rest, err := io.ReadAll(f)
					assert.NoError(t, err)
					assert.Equal(t, twelve[good:], string(rest))
					assert.NoError(t, f.Close())

					d.From = int64(from)
					data, err = fiberio.ReadFile(context.Background(), engines, name)
					if good < len(twelve) {
						assert.ErrorIs(t, err, d.Errno)
					} else {
						assert.NoError(t, err)
						assert.Equal(t, twelve, string(data))
					}
				}
			}
		}
	})
}

// A file that is read whole has each byte once, even if a request reads a part of what it could.
func TestReadFileAfterAShortRead(t *testing.T) {
	for _, size := range []int{100, 28 << 10, (32 << 10), 3 * (32 << 10)} {
		name := filepath.Join(t.TempDir(), "file")
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i % 251)
		}
		require.NoError(t, os.WriteFile(name, data, 0o600))
		uring.OnBrokenDisk(t, func(engines *uring.Engines, d *uring.BrokenDisk) {
			d.Once, d.Errno = true, syscall.EIO
			const head = 28 << 10
			for _, from := range []int{
				1, 99, head - 1, head + 1, (32 << 10) - 1, (32 << 10) + 1, 3*(32<<10) - 1,
			} {
				d.From = int64(from)
				got, err := fiberio.ReadFile(context.Background(), engines, name)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(data, got), "%d bytes in place of %d, broken at %d", len(got), size, from)
			}
			for _, d.Once = range []bool{true, false} {
				d.From, d.Errno = 0, syscall.EAGAIN // as where a file system knows no reads that do not block
				got, err := fiberio.ReadFile(context.Background(), engines, name)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(data, got), "%d bytes in place of %d, after EAGAIN", len(got), size)
				assert.Less(t, cap(got), 3*size/2+1024, "memory for a file of %d bytes", size)
			}
		})
	}
}
