package uring_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// openFile is an open file of package os, which is the model, or of engines.
type openFile interface {
	io.ReadWriteSeeker
	io.Closer
}

// opener opens a file as os.OpenFile does.
type opener func(name string, flag int, perm fs.FileMode) (openFile, error)

func byOS(name string, flag int, perm fs.FileMode) (openFile, error) {
	return os.OpenFile(name, flag, perm)
}

func byEngines(engines *uring.Engines) opener {
	return func(name string, flag int, perm fs.FileMode) (openFile, error) {
		return fiberio.OpenFile(context.Background(), engines, name, flag, perm)
	}
}

// account is what became of a file's operations, one line each.
type account []string

// step adds an operation that returned n and err. Of the error only the cause counts: package os words some operations
// differently.
func (a *account) step(what string, n int64, err error) {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		err = errno
	case err != nil && strings.Contains(err.Error(), "negative offset"):
		err = sched.ErrNegative
	}
	*a = append(*a, fmt.Sprintf("%s: %d, %v", what, n, err))
}

// hash stands for the bytes of p.
func hash(p []byte) uint32 { return crc32.ChecksumIEEE(p) }

// read reads until it has size bytes, or an error: one call may bring less than there is.
func (a *account) read(f openFile, size int) {
	p := make([]byte, size)
	n, err := 0, error(nil)
	for n < size && err == nil {
		var m int
		m, err = f.Read(p[n:])
		n += m
	}
	a.step(fmt.Sprintf("read %d: %08x", size, hash(p)), int64(n), err)
}

func (a *account) write(f openFile, seed, size int) {
	n, err := f.Write(randomBytes(uint64(seed), size))
	a.step(fmt.Sprintf("write %d", size), int64(n), err)
}

func (a *account) seek(f openFile, offset int64, whence int) {
	at, err := f.Seek(offset, whence)
	a.step(fmt.Sprintf("seek %d %d", offset, whence), at, err)
}

func (a *account) position(f openFile) { a.seek(f, 0, io.SeekCurrent) }

// requireSame demands the account of package os, and shows where another one leaves it.
func requireSame(t require.TestingT, want, got account) {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			want, got := strings.Join(want[max(0, i-9):i+1], "\n"), strings.Join(got[max(0, i-9):i+1], "\n")
			t.Errorf("package os:\n%s\nengines:\n%s", want, got)
			t.FailNow()
		}
	}
	require.Len(t, got, len(want))
}

// refusedWrites are writes of 12 units to a new file that has room for less. Then there is room again.
var refusedWrites = []struct {
	name string
	flag int
	run  func(a *account, f openFile, unit int, makeRoom func())
}{
	{"own position", os.O_RDWR, func(a *account, f openFile, unit int, makeRoom func()) {
		a.write(f, 1, 3*unit)
		a.position(f)
		a.write(f, 2, 9*unit)
		a.position(f)
		makeRoom()
		a.write(f, 3, unit)
		a.position(f)
		a.seek(f, int64(-2*unit), io.SeekEnd)
		a.read(f, 3*unit)
		a.position(f)
	}},
	{"between reads", os.O_RDWR, func(a *account, f openFile, unit int, makeRoom func()) {
		a.write(f, 1, 4*unit)
		a.seek(f, int64(unit), io.SeekStart)
		a.read(f, unit)
		a.write(f, 2, 10*unit)
		a.position(f)
		a.read(f, unit)
		makeRoom()
		a.write(f, 3, unit)
		a.seek(f, int64(-unit), io.SeekCurrent)
		a.read(f, 2*unit)
		a.position(f)
	}},
	{"write only", os.O_WRONLY, func(a *account, f openFile, unit int, makeRoom func()) {
		a.write(f, 1, 12*unit)
		makeRoom()
		a.write(f, 2, unit)
		a.position(f)
	}},
	{"append", os.O_RDWR | os.O_APPEND, func(a *account, f openFile, unit int, makeRoom func()) {
		a.write(f, 1, 3*unit)
		a.seek(f, int64(unit), io.SeekStart)
		a.read(f, unit)
		a.write(f, 2, 9*unit)
		a.position(f)
		makeRoom()
		a.read(f, unit)
		a.write(f, 3, unit)
		a.position(f)
		a.read(f, unit)
		a.seek(f, 0, io.SeekStart)
		a.read(f, 2*unit)
		a.position(f)
	}},
}

// takesRoom leaves files that much room, until makeRoom is called.
type takesRoom func(room int) (makeRoom func())

// refusals has each of refusedWrites made, by files that open opens, of files that have each of these rooms. It returns
// what happened.
func refusals(t require.TestingT, open opener, dir string, unit int, takeRoom takesRoom, rooms ...int) (all account) {
	for _, c := range refusedWrites {
		for _, room := range rooms {
			all = append(all, fmt.Sprintf("%s, room for %d:", c.name, room))
			name := filepath.Join(dir, "file")
			f, err := open(name, c.flag|os.O_CREATE|os.O_EXCL, 0o600)
			require.NoError(t, err)
			makeRoom := takeRoom(room)
			c.run(&all, f, unit, makeRoom)
			all.step("close", 0, f.Close())
			data, err := os.ReadFile(name)
			all.step(fmt.Sprintf("contents %08x", hash(data)), int64(len(data)), err)
			require.NoError(t, os.Remove(name))
		}
	}
	return all
}

// counting returns the numbers from 0 to most.
func counting(most int) (all []int) {
	for i := range most + 1 {
		all = append(all, i)
	}
	return all
}

// A write that a limit of the process ends at any byte has written what came before that byte, says so, and leaves the
// position there.
func TestWritesAgainstALimit(t *testing.T) {
	suite.EachBackend(t, func(t *testing.T, b fiber.Backend) {
		eachDriver(t, func(t *testing.T, driver uring.Driver) {
			child.RunOK(t, childLimit, b, envDriver+"="+driver.String(), envDir+"="+t.TempDir())
		})
	})
}

const (
	envDriver = "FIBERLAB_TEST_DRIVER"
	envDir    = "FIBERLAB_TEST_DIR"
)

// This child has a limit for the size of its files. It has SIGXFSZ ignored, which would end the process.
var childLimit = child.New("limit", func(t child.T, b fiber.Backend) {
	signal.Ignore(syscall.SIGXFSZ)
	driver, err := uring.ParseDriver(os.Getenv(envDriver))
	require.NoError(t, err)
	engines, s := attach(t, uring.Options{Driver: driver}, sched.Config{Workers: 2, Backend: b})
	takeRoom := func(room int) func() {
		limit := func(most uint64) {
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}))
		}
		limit(uint64(room))
		return func() { limit(unix.RLIM_INFINITY) }
	}
	for _, size := range []struct {
		unit  int
		rooms []int
	}{
		{1, counting(15)},
		{5000, []int{0, 1, 4095, 4096, 4097, 14_999, 15_000, 15_001, 30_000, 40_000, 50_000, 59_999, 60_000, 65_000}},
	} {
		run := func(open opener) account {
			return refusals(t, open, os.Getenv(envDir), size.unit, takeRoom, size.rooms...)
		}
		want := run(byOS)
		requireSame(t, want, run(byEngines(engines)))
		got := make(chan account)
		require.NoError(t, s.Go(func() {
			result := run(byEngines(engines))
			got <- result
		}))
		requireSame(t, want, <-got)
	}
	require.NoError(t, s.Close())
	require.NoError(t, engines.Close())
})

// A write that a full disk ends in any of its pages does so, too.
func TestWritesToAFullDisk(t *testing.T) {
	const pages = 16
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", pages*os.Getpagesize())); err != nil {
		t.Skip("full disks are left out: only root may mount a small one: ", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	// A thread of io_uring may hold a file for a moment after its last request has completed. Then the file keeps its
	// pages although it is closed and removed.
	waitUntilEmpty := func() {
		var disk unix.Statfs_t
		for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			require.NoError(t, unix.Statfs(dir, &disk))
			if disk.Bfree == pages {
				return
			}
			require.True(t, time.Now().Before(limit), "%d of %d pages are free, and no file is left", disk.Bfree, pages)
		}
	}
	filler := filepath.Join(dir, "filler")
	takeRoom := func(room int) func() {
		waitUntilEmpty()
		require.NoError(t, os.WriteFile(filler, make([]byte, (pages-room)*os.Getpagesize()), 0o600))
		return func() { require.NoError(t, os.Remove(filler)) }
	}
	units := []int{os.Getpagesize() + 7, os.Getpagesize() - 1, os.Getpagesize()}
	for _, unit := range units[:suite.Scaled(3, 1)] {
		t.Run(fmt.Sprint(unit), func(t *testing.T) {
			run := func(open opener) account {
				return refusals(t, open, dir, unit, takeRoom, counting(pages)...)
			}
			want := run(byOS)
			require.Contains(t, fmt.Sprint(want), unix.ENOSPC.Error())
			eachFileUser(t, func(t *testing.T, u fileUser) {
				var got account
				u.run(func() { got = run(byEngines(u.engines)) })
				requireSame(t, want, got)
			})
		})
	}
}

// Reads and writes that fail at any byte, as on a broken disk, have transferred what comes before it, and leave the
// position there. The file is the memory of the process: it has a page that cannot be read or written.
func TestFileThatIsBroken(t *testing.T) {
	page := os.Getpagesize()
	fd, err := unix.MemfdCreate("one page", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Ftruncate(fd, int64(page)))
	memory, err := unix.Mmap(fd, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	broken := int64(uintptr(unsafe.Pointer(&memory[0]))) + int64(page)
	const size = 20
	run := func(open opener) (all account) {
		for good := range size + 2 {
			copy(memory[page-2*size:page], randomBytes(9, 2*size))
			f, err := open("/proc/self/mem", os.O_RDWR, 0)
			if err != nil {
				return account{err.Error()}
			}
			from := broken - int64(good)
			all.seek(f, from, io.SeekStart)
			all.read(f, size)
			all.position(f)
			all.read(f, size)
			all.position(f)
			all.seek(f, from, io.SeekStart)
			all.write(f, 1, size)
			all.position(f)
			all.write(f, 2, size)
			all.position(f)
			all.step(fmt.Sprintf("%x", memory[page-2*size:page]), int64(good), f.Close())
		}
		return all
	}
	want := run(byOS)
	require.Contains(t, fmt.Sprint(want), unix.EIO.Error())
	eachFileUser(t, func(t *testing.T, u fileUser) {
		var got account
		u.run(func() { got = run(byEngines(u.engines)) })
		requireSame(t, want, got)
	})
}
