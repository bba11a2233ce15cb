package uring_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/suite"
)

// fileUser calls functions that use files, on goroutines or on fibers.
type fileUser struct {
	engines *uring.Engines
	// begin calls f on another goroutine, or on a fiber, and returns what waits for its end.
	begin func(f func()) (wait func())
}

// run calls f and waits for its end.
func (u fileUser) run(f func()) { u.begin(f)() }

// eachFileUser runs test for fibers of schedulers of each kind and for goroutines, with each driver.
func eachFileUser(t *testing.T, test func(t *testing.T, u fileUser)) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		suite.EachConfig(t, []int{1, 2}, func(t *testing.T, cfg sched.Config) {
			engines := uring.New(uring.Options{Driver: driver})
			engines.Attach(&cfg)
			s, err := sched.New(cfg)
			require.NoError(t, err)
			test(t, fileUser{engines, func(f func()) func() {
				ended := make(chan struct{})
				require.NoError(t, s.Go(func() {
					defer close(ended)
					f()
				}))
				return func() { <-ended }
			}})
			require.NoError(t, s.Close())
			require.NoError(t, engines.Close())
		})
		t.Run("goroutines", func(t *testing.T) {
			leaks.Check(t)
			engines := uring.New(uring.Options{Driver: driver})
			test(t, fileUser{engines, func(f func()) func() {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					f()
				}()
				return func() { <-ended }
			}})
			require.NoError(t, engines.Close())
		})
	})
}

// assertPathError checks that err is a *fs.PathError of that operation and name, because of cause.
func assertPathError(t *testing.T, err error, op, name string, cause error) {
	t.Helper()
	var p *fs.PathError
	if assert.ErrorAs(t, err, &p) {
		assert.Equal(t, op, p.Op)
		assert.Equal(t, name, p.Path)
		if cause != nil {
			assert.ErrorIs(t, err, cause)
		}
	}
}

// randomBytes are the same ones for each seed.
func randomBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b)
	return b
}

func TestFileReadsWhatItWrote(t *testing.T) {
	data := randomBytes(1, 300_000)
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "file")
		u.run(func() {
			ctx := context.Background()
			f, err := fiberio.Create(ctx, u.engines, name)
			if !assert.NoError(t, err) {
				return
			}
			n, err := f.Write(data)
			assert.NoError(t, err)
			assert.Equal(t, len(data), n)
			_, err = f.Seek(1000, io.SeekStart)
			assert.NoError(t, err)
			n, err = f.Write([]byte("middle"))
			assert.NoError(t, err)
			assert.Equal(t, 6, n)
			info, err := f.Stat()
			assert.NoError(t, err)
			assert.Equal(t, int64(len(data)), info.Size())
			assert.Equal(t, "file", info.Name())
			at, err := f.Seek(0, io.SeekStart)
			assert.NoError(t, err)
			assert.Zero(t, at)
			got, err := io.ReadAll(f)
			assert.NoError(t, err)
			want := bytes.Clone(data)
			copy(want[1000:], "middle")
			assert.Equal(t, sha256.Sum256(want), sha256.Sum256(got))
			b := make([]byte, 1000)
			n, err = f.Read(b)
			assert.Zero(t, n)
			assert.Equal(t, io.EOF, err)
			n, err = f.Read(nil)
			assert.Zero(t, n)
			assert.NoError(t, err, "a read of nothing")
			n, err = f.Write(nil)
			assert.Zero(t, n)
			assert.NoError(t, err)
			assert.NoError(t, f.Close())
			again, err := os.ReadFile(name)
			assert.NoError(t, err)
			assert.True(t, bytes.Equal(want, again))
		})
	})
}

// A reader keeps the contract that testing/iotest checks.
func TestFileIsAReader(t *testing.T) {
	data := randomBytes(2, 500)
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, data, 0o600))
		u.run(func() {
			f, err := fiberio.Open(context.Background(), u.engines, name)
			if assert.NoError(t, err) {
				assert.NoError(t, iotest.TestReader(f, data))
				assert.NoError(t, f.Close())
			}
		})
	})
}

func TestFileErrors(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(name, []byte("text"), 0o600))
		ctx := context.Background()
		u.run(func() {
			_, err := fiberio.Open(ctx, u.engines, dir+"/none")
			assertPathError(t, err, "open", dir+"/none", fs.ErrNotExist)
			_, err = fiberio.Open(ctx, u.engines, "a\x00b")
			assertPathError(t, err, "open", "a\x00b", syscall.EINVAL)
			_, err = fiberio.OpenFile(ctx, u.engines, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			assertPathError(t, err, "open", name, fs.ErrExist)

			d, err := fiberio.Open(ctx, u.engines, dir)
			if assert.NoError(t, err) {
				b := make([]byte, 10)
				_, err = d.Read(b)
				assertPathError(t, err, "read", dir, syscall.EISDIR)
				assert.NoError(t, d.Close())
			}

			f, err := fiberio.Open(ctx, u.engines, name)
			if !assert.NoError(t, err) {
				return
			}
			b := make([]byte, 10)
			_, err = f.Write(b)
			assertPathError(t, err, "write", name, syscall.EBADF)
			assert.NoError(t, f.Close())

			assertPathError(t, f.Close(), "close", name, fs.ErrClosed)
			_, err = f.Read(b)
			assertPathError(t, err, "read", name, fs.ErrClosed)
			_, err = f.Write(b)
			assertPathError(t, err, "write", name, fs.ErrClosed)
			_, err = f.Seek(0, io.SeekStart)
			assertPathError(t, err, "seek", name, fs.ErrClosed)
			_, err = f.Stat()
			assertPathError(t, err, "stat", name, fs.ErrClosed)

			full, err := fiberio.OpenFile(ctx, u.engines, "/dev/full", os.O_WRONLY, 0)
			if assert.NoError(t, err) {
				n, err := full.Write(make([]byte, 100))
				assert.Zero(t, n)
				assertPathError(t, err, "write", "/dev/full", syscall.ENOSPC)
				assert.NoError(t, full.Close())
			}
			zero, err := fiberio.Open(ctx, u.engines, "/dev/zero")
			if assert.NoError(t, err) {
				n, err := zero.Read(b)
				assert.NoError(t, err)
				assert.Positive(t, n)
				assert.NoError(t, zero.Close())
			}
		})
	})
}

// The offset has 64 bits on all ways.
func TestFilePastTwoGigabytes(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "holes")
		u.run(func() {
			f, err := fiberio.Create(context.Background(), u.engines, name)
			if !assert.NoError(t, err) {
				return
			}
			for _, at := range []int64{1<<31 - 2, 1<<32 - 2, 1 << 40} {
				_, err = f.Seek(at, io.SeekStart)
				assert.NoError(t, err)
				_, err = f.Write([]byte("here"))
				assert.NoError(t, err)
				_, err = f.Seek(-4, io.SeekCurrent)
				assert.NoError(t, err)
				b := make([]byte, 4)
				_, err = io.ReadFull(f, b)
				assert.NoError(t, err)
				assert.Equal(t, "here", string(b))
			}
			at, err := f.Seek(-2, io.SeekEnd)
			assert.NoError(t, err)
			assert.Equal(t, int64(1<<40+2), at)
			b, err := io.ReadAll(f)
			assert.NoError(t, err)
			assert.Equal(t, "re", string(b))
			assert.NoError(t, f.Close())
		})
	})
}

func TestFileAppends(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "log")
		u.run(func() {
			var both [2]*fiberio.File
			for i := range both {
				var err error
				both[i], err = fiberio.OpenFile(
					context.Background(), u.engines, name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640,
				)
				if !assert.NoError(t, err) {
					return
				}
			}
			for i := range 6 {
				_, err := fmt.Fprintln(both[i%2], i)
				assert.NoError(t, err)
			}
			for _, f := range both {
				assert.NoError(t, f.Close())
			}
			got, err := os.ReadFile(name)
			assert.NoError(t, err)
			assert.Equal(t, "0\n1\n2\n3\n4\n5\n", string(got))
			info, err := os.Stat(name)
			assert.NoError(t, err)
			assert.Equal(t, fs.FileMode(0o640), info.Mode())
		})
	})
}

// After a write that appends, the position is behind its last byte, also if others have appended more since.
func TestFileAppendsBesideOthers(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "log")
		other, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		require.NoError(t, err)
		defer other.Close()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = other.WriteString("-")
				}
			}
		}()
		u.run(func() {
			f, err := fiberio.OpenFile(context.Background(), u.engines, name, os.O_WRONLY|os.O_APPEND, 0)
			if !assert.NoError(t, err) {
				return
			}
			last := make([]byte, 1)
			for i := 0; i < 50 && !t.Failed(); i++ {
				_, err := f.Write([]byte("x"))
				assert.NoError(t, err)
				end, err := f.Seek(0, io.SeekCurrent)
				assert.NoError(t, err)
				_, err = other.ReadAt(last, end-1)
				assert.NoError(t, err)
				assert.Equal(t, "x", string(last))
			}
			assert.NoError(t, f.Close())
		})
		close(stop)
		<-stopped
	})
}

// The file's own position passes each byte to one reader.
func TestReadersShareAFile(t *testing.T) {
	const blocks, block = 100, 512
	data := randomBytes(3, blocks*block)
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, data, 0o600))
		var f *fiberio.File
		u.run(func() {
			var err error
			f, err = fiberio.Open(context.Background(), u.engines, name)
			assert.NoError(t, err)
		})
		require.NotNil(t, f)
		var seen [256]atomic.Int64
		var waits []func()
		for range 4 {
			waits = append(waits, u.begin(func() {
				b := make([]byte, block)
				for {
					n, err := f.Read(b)
					if err == io.EOF {
						return
					}
					if !assert.NoError(t, err) {
						return
					}
					for _, c := range b[:n] {
						seen[c].Add(1)
					}
				}
			}))
		}
		for _, wait := range waits {
			wait()
		}
		for c := range seen {
			require.EqualValues(t, bytes.Count(data, []byte{byte(c)}), seen[c].Load(), "bytes %d", c)
		}
		u.run(func() { assert.NoError(t, f.Close()) })
	})
}

// fifo makes a named pipe.
func fifo(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(name, 0o600))
	return name
}

// Close of a pipe ends the read of it that waits, and reads that wait for their turn.
func TestCloseEndsReads(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := fifo(t)
		var f *fiberio.File
		u.run(func() {
			var err error
			f, err = fiberio.OpenFile(context.Background(), u.engines, name, os.O_RDWR, 0) // does not wait for the other end
			assert.NoError(t, err)
			_, err = f.Write([]byte("1"))
			assert.NoError(t, err)
			b := make([]byte, 10)
			n, err := f.Read(b)
			assert.NoError(t, err)
			assert.Equal(t, "1", string(b[:n]), "a short read")
			_, err = f.Seek(0, io.SeekStart)
			assertPathError(t, err, "seek", name, syscall.ESPIPE)
		})
		var waits []func()
		for range 3 {
			begun := make(chan struct{})
			waits = append(waits, u.begin(func() {
				close(begun)
				_, err := f.Read(make([]byte, 10))
				assertPathError(t, err, "read", name, fs.ErrClosed)
			}))
			<-begun
		}
		time.Sleep(time.Millisecond) // most likely they wait by now; if not, they find the file closed
		u.run(func() { assert.NoError(t, f.Close()) })
		for _, wait := range waits {
			wait()
		}
	})
}

// A write of more than a pipe holds waits until all is written.
func TestWriteToAPipe(t *testing.T) {
	data := randomBytes(4, 300_000)
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := fifo(t)
		got := make(chan []byte)
		go func() {
			b, err := os.ReadFile(name)
			assert.NoError(t, err)
			got <- b
		}()
		u.run(func() {
			f, err := fiberio.OpenFile(context.Background(), u.engines, name, os.O_WRONLY, 0)
			if assert.NoError(t, err) {
				n, err := f.Write(data)
				assert.NoError(t, err)
				assert.Equal(t, len(data), n)
				assert.NoError(t, f.Close())
			}
		})
		require.True(t, bytes.Equal(data, <-got))
	})
}

// A pipe waits for the other end, until the context is done.
func TestContextEndsOpenAndReadFile(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		cause := fmt.Errorf("no more time: %w", net.ErrClosed) // which a closed file has inside
		for _, begin := range []func(ctx context.Context, name string) error{
			func(ctx context.Context, name string) error {
				_, err := fiberio.OpenFile(ctx, u.engines, name, os.O_WRONLY, 0)
				return err
			},
			func(ctx context.Context, name string) error {
				_, err := fiberio.ReadFile(ctx, u.engines, name)
				return err
			},
		} {
			name := fifo(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			begun := make(chan struct{})
			wait := u.begin(func() {
				close(begun)
				assert.ErrorIs(t, begin(ctx, name), cause)
				assertPathError(t, begin(ctx, name), "open", name, cause)
			})
			<-begun
			time.Sleep(time.Millisecond)
			cancel(cause)
			wait()
		}
	})
}

// Opens of pipes that are given up leave nothing behind, in particular no thread that waits for the other end.
func TestOpenThatIsGivenUpKeepsNoThread(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		const opens = 60
		toWrite, toRead := fifo(t), fifo(t) // what has read may close its pipe a moment later
		before := threads(t)
		for i := range opens {
			ctx, cancel := context.WithCancel(context.Background())
			begun := make(chan struct{})
			wait := u.begin(func() {
				close(begun)
				if i%2 == 0 {
					_, err := fiberio.OpenFile(ctx, u.engines, toWrite, os.O_WRONLY, 0)
					assert.ErrorIs(t, err, context.Canceled)
				} else {
					_, err := fiberio.ReadFile(ctx, u.engines, toRead)
					assert.ErrorIs(t, err, context.Canceled)
				}
			})
			<-begun
			time.Sleep(100 * time.Microsecond)
			cancel()
			wait()
		}
		require.Less(t, threads(t), before+opens/3, "threads that wait for the other end of a pipe")
	})
}

// threads is how many threads the process has.
func threads(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(list)
}

// A pipe is opened for writing when a reader comes. It may be opened for reading before a writer comes: then the read
// waits for one.
func TestPipeWaitsForItsOtherEnd(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := fifo(t)
		over := make(chan error, 1)
		u.begin(func() {
			f, err := fiberio.OpenFile(context.Background(), u.engines, name, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write([]byte("hello"))
				err = errors.Join(err, f.Close())
			}
			over <- err
		})
		time.Sleep(time.Millisecond) // most likely it waits by now
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, <-over)
		require.Equal(t, "hello", string(got))

		u.begin(func() {
			f, err := fiberio.Open(context.Background(), u.engines, name)
			if err == nil {
				b := make([]byte, 5)
				_, err = io.ReadFull(f, b)
				assert.Equal(t, "again", string(b))
				err = errors.Join(err, f.Close())
			}
			over <- err
		})
		time.Sleep(time.Millisecond)
		require.NoError(t, os.WriteFile(name, []byte("again"), 0))
		require.NoError(t, <-over)
	})
}

// A regular file that is opened with O_NONBLOCK waits for its disk as any other. A pipe keeps the flag.
func TestOpenWithoutBlocking(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, []byte("content"), 0o600))
		u.run(func() {
			f, err := fiberio.OpenFile(context.Background(), u.engines, name, os.O_RDONLY|unix.O_NONBLOCK, 0)
			if assert.NoError(t, err) {
				got, err := io.ReadAll(f)
				assert.NoError(t, err)
				assert.Equal(t, "content", string(got))
				assert.NoError(t, f.Close())
			}
			_, err = fiberio.OpenFile(context.Background(), u.engines, fifo(t), os.O_WRONLY|unix.O_NONBLOCK, 0)
			assert.ErrorIs(t, err, syscall.ENXIO, "it has no reader")
			f, err = fiberio.OpenFile(context.Background(), u.engines, fifo(t), os.O_RDONLY|unix.O_NONBLOCK, 0)
			if assert.NoError(t, err) {
				assert.NoError(t, f.Close())
			}
		})
	})
}

// While another open file has a lease, an open waits, or returns EAGAIN with O_NONBLOCK. ctx ends the wait.
func TestOpenWaitsForALease(t *testing.T) {
	lease := func(name string) (*os.File, error) {
		f, err := os.Create(name)
		require.NoError(t, err)
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		return f, err
	}
	probe, err := lease(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, probe.Close())
	if err != nil {
		t.Skip("no leases here:", err)
	}
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := filepath.Join(t.TempDir(), "file")
		leased, err := lease(name)
		require.NoError(t, err)
		defer leased.Close()
		open := func(ctx context.Context, flag int) error {
			f, err := fiberio.OpenFile(ctx, u.engines, name, flag, 0)
			if err == nil {
				err = f.Close()
			}
			return err
		}
		u.run(func() {
			assert.ErrorIs(t, open(context.Background(), os.O_RDONLY|unix.O_NONBLOCK), unix.EAGAIN)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			assert.ErrorIs(t, open(ctx, os.O_RDONLY), context.DeadlineExceeded)
		})
		over := make(chan error, 1)
		u.begin(func() { over <- open(context.Background(), os.O_RDONLY) })
		time.Sleep(time.Millisecond) // most likely it waits by now
		require.NoError(t, leased.Close())
		require.NoError(t, <-over)
	})
}

func TestReadFile(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		dir := t.TempDir()
		ctx := context.Background()
		u.run(func() {
			sizes := []int{0, 1, 4095, 4096, 28<<10 - 1, 28 << 10, 28<<10 + 1, 32 << 10, 32<<10 + 1, 1 << 20, 1<<20 + 1}
			for _, size := range sizes {
				name := filepath.Join(dir, fmt.Sprint(size))
				want := randomBytes(uint64(size), size)
				assert.NoError(t, os.WriteFile(name, want, 0o600))
				got, err := fiberio.ReadFile(ctx, u.engines, name)
				assert.NoError(t, err)
				assert.NotNil(t, got)
				assert.True(t, bytes.Equal(want, got), "%d bytes", size)
			}
			_, err := fiberio.ReadFile(ctx, u.engines, dir+"/none")
			assertPathError(t, err, "open", dir+"/none", fs.ErrNotExist)
			_, err = fiberio.ReadFile(ctx, u.engines, "")
			assertPathError(t, err, "open", "", fs.ErrNotExist)
			_, err = fiberio.ReadFile(ctx, u.engines, "a\x00b")
			assertPathError(t, err, "open", "a\x00b", syscall.EINVAL)
			_, err = fiberio.ReadFile(ctx, u.engines, dir)
			assertPathError(t, err, "read", dir, syscall.EISDIR)
			long := "/" + string(bytes.Repeat([]byte("x"), 50_000))
			_, err = fiberio.ReadFile(ctx, u.engines, long)
			assertPathError(t, err, "open", long, syscall.ENAMETOOLONG)
			// Files whose size is 0 and a page, but which have less than a page of text.
			for _, name := range []string{"/proc/version", "/sys/devices/system/cpu/online"} {
				want, err := os.ReadFile(name)
				assert.NoError(t, err)
				got, err := fiberio.ReadFile(ctx, u.engines, name)
				assert.NoError(t, err)
				assert.Equal(t, string(want), string(got))
			}
		})
	})
}

// ReadFile of a pipe reads until the other end is closed, however slowly it comes.
func TestReadFileOfAPipe(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		name := fifo(t)
		wait := u.begin(func() {
			got, err := fiberio.ReadFile(context.Background(), u.engines, name)
			assert.NoError(t, err)
			assert.Equal(t, "one two three ", string(got))
		})
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		require.NoError(t, err)
		for _, word := range []string{"one ", "two ", "three "} {
			_, err := f.WriteString(word)
			require.NoError(t, err)
			time.Sleep(200 * time.Microsecond)
		}
		require.NoError(t, f.Close())
		wait()
	})
}

// More readers than an engine reads files at a time.
func TestManyReadFiles(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		dir := t.TempDir()
		const files = 20
		var sums [files][sha256.Size]byte
		for i := range files {
			data := randomBytes(uint64(i), 100+i*997)
			sums[i] = sha256.Sum256(data)
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o600))
		}
		var waits []func()
		for i := range suite.Scaled(400, 100) {
			waits = append(waits, u.begin(func() {
				for j := range 3 {
					k := (i + j) % files
					data, err := fiberio.ReadFile(context.Background(), u.engines, filepath.Join(dir, fmt.Sprint(k)))
					assert.NoError(t, err)
					assert.Equal(t, sums[k], sha256.Sum256(data), "file %d", k)
				}
			}))
		}
		for _, wait := range waits {
			wait()
		}
	})
}

func TestFS(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		dir := t.TempDir()
		for name, text := range map[string]string{"a": "one", "d/b": "two", "d/e/c": ""} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		u.run(func() {
			files := fiberio.FS(u.engines, dir)
			assert.NoError(t, fstest.TestFS(files, "a", "d/b", "d/e/c"))
			for _, name := range []string{"../x", "/etc/passwd", "d/../a", "./a", "", "d/"} {
				_, err := files.Open(name)
				assertPathError(t, err, "open", name, fs.ErrInvalid)
				_, err = fs.ReadFile(files, name)
				assertPathError(t, err, "readfile", name, fs.ErrInvalid)
				_, err = fs.Stat(files, name)
				assertPathError(t, err, "stat", name, fs.ErrInvalid)
				_, err = fs.ReadDir(files, name)
				assertPathError(t, err, "readdir", name, fs.ErrInvalid)
				_, err = fs.Sub(files, name)
				assertPathError(t, err, "sub", name, fs.ErrInvalid)
			}
			_, err := files.Open("none")
			assertPathError(t, err, "open", "none", fs.ErrNotExist)
			_, err = fiberio.FS(u.engines, "").Open("a")
			assert.Error(t, err, "an empty directory name is not the working directory")
			below, err := fs.Sub(files, "d")
			assert.NoError(t, err)
			text, err := fs.ReadFile(below, "b")
			assert.NoError(t, err)
			assert.Equal(t, "two", string(text))
		})
	})
}

// FS opens and reads the files that it stats and lists, even if its directory has ".." behind a symbolic link.
func TestFSBehindALink(t *testing.T) {
	eachFileUser(t, func(t *testing.T, u fileUser) {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "d/e"), 0o700))
		require.NoError(t, os.Symlink("d/e", filepath.Join(dir, "link")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "d/file"), []byte("right"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("wrong"), 0o600))
		u.run(func() {
			files := fiberio.FS(u.engines, dir+"/link/..")
			text, err := fs.ReadFile(files, "file")
			assert.NoError(t, err)
			assert.Equal(t, "right", string(text))
			assert.NoError(t, fstest.TestFS(files, "file"))
		})
	})
}

// An engine that has room for one request at a time reads all files.
func TestReadFilesWithLittleRoom(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		dir := t.TempDir()
		for i := range 10 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), randomBytes(uint64(i), i*1000), 0o600))
		}
		engines, s := attach(t, uring.Options{Driver: driver, Requests: 1}, sched.Config{Workers: 1})
		for i := range 100 {
			require.NoError(t, s.Go(func() {
				data, err := fiberio.ReadFile(context.Background(), engines, filepath.Join(dir, fmt.Sprint(i%10)))
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(randomBytes(uint64(i%10), i%10*1000), data), "file %d", i%10)
			}))
		}
		require.NoError(t, s.Close())
		require.NoError(t, engines.Close())
	})
}

// ReadFile of a large file needs memory for its bytes, and not for the way there.
func TestReadFileNeedsNoMoreThanTheFile(t *testing.T) {
	const size = 48 << 20
	name := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, os.Truncate(name, size))
	eachFileUser(t, func(t *testing.T, u fileUser) {
		u.run(func() { // whatever is made once
			_, err := fiberio.ReadFile(context.Background(), u.engines, os.DevNull)
			assert.NoError(t, err)
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		u.run(func() {
			data, err := fiberio.ReadFile(context.Background(), u.engines, name)
			assert.NoError(t, err)
			assert.Len(t, data, size)
		})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size+size/8))
	})
}

// An open that waits when its engine ends goes on by another one, as the operations of files do.
func TestOpenOutlivesItsEngine(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 1})
		name := fifo(t)
		opened, looks := make(chan error, 1), &countedLooks{Context: context.Background()}
		go func() {
			f, err := fiberio.OpenFile(looks, engines, name, os.O_WRONLY, 0)
			if err == nil {
				err = f.Close()
			}
			opened <- err
		}()
		for looks.n.Load() < 2 { // before each attempt to open the pipe, one look: the first attempt is over
			time.Sleep(50 * time.Microsecond)
		}
		require.NoError(t, s.Close())
		other, err := os.OpenFile(name, os.O_RDWR, 0)
		require.NoError(t, err)
		require.NoError(t, <-opened)
		require.NoError(t, other.Close())
		require.NoError(t, engines.Close())
	})
}

// countedLooks counts how often a context is asked whether it is done.
type countedLooks struct {
	context.Context
	n atomic.Int64
}

func (c *countedLooks) Err() error {
	c.n.Add(1)
	return c.Context.Err()
}

// A fiber that waits until another reader has had its turn waits for what its scheduler does not see. So Close waits,
// and reports no deadlock.
func TestReaderThatWaitsForItsTurnIsNoDeadlock(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver uring.Driver) {
		leaks.Check(t)
		engines := uring.New(uring.Options{Driver: driver}) // not the scheduler's
		f, err := fiberio.OpenFile(context.Background(), engines, fifo(t), os.O_RDWR, 0)
		require.NoError(t, err)
		s, err := sched.New(sched.Config{Workers: 1, GiveUpAfter: time.Millisecond})
		require.NoError(t, err)
		read := func() {
			_, err := f.Read(make([]byte, 1))
			assert.NoError(t, err)
		}
		first := make(chan struct{})
		go func() {
			defer close(first)
			read()
		}()
		for here(engines).Pending() == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		require.NoError(t, s.Go(read))
		for s.Stats().Blocked == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			t.Error("Close has returned before the reader has read: ", err)
			closed <- err
		case <-time.After(50 * time.Millisecond): // most likely it has looked many times by now
		}
		for range 2 {
			_, err = f.Write([]byte("x"))
			require.NoError(t, err)
		}
		<-first
		require.NoError(t, <-closed)
		require.NoError(t, f.Close())
		require.NoError(t, engines.Close())
	})
}
