package uring

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
)

// brokenDisk is a proxy by which a file cannot be read or written from one byte on. It does what the kernel does then:
// a request that begins before that byte ends there, and leaves the kernel's position where it was. It makes the reads
// and writes itself, when the other proxy has completed a request that does nothing.
type brokenDisk struct {
	proxy
	name  string        // of the one file that is opened in slots
	from  int64         // the byte
	errno syscall.Errno // why
	once  bool          // the disk is whole again after a request has met the byte

	requests map[uint64]entry   // reads and writes that are under way
	slots    map[int32]*os.File // what is opened in slots
}

func (d *brokenDisk) can(a ability) bool { return a == regularFiles || d.proxy.can(a) }

// openSlots opens the slots of the ring below.
func (d *brokenDisk) openSlots(count int) error {
	return d.proxy.(interface{ openSlots(count int) error }).openSlots(count)
}

func (d *brokenDisk) stage(e entry) bool {
	staged := e
	if e.op == opRead || e.op == opWrite {
		staged = entry{id: e.id, op: opNop, how: e.how &^ direct}
	}
	if !d.proxy.stage(staged) {
		return false
	}
	switch {
	case e.op == opRead || e.op == opWrite:
		d.requests[e.id] = e
	case e.op == opOpen && e.how&direct != 0:
		d.slots[int32(e.group)], _ = os.Open(d.name)
	case e.op == opClose && e.how&direct != 0:
		_ = d.slots[e.fd].Close()
	}
	return true
}

func (d *brokenDisk) turn(limit time.Duration) ([]completion, error) {
	return d.transferAll(d.proxy.turn(limit))
}

func (d *brokenDisk) idle(limit time.Duration) ([]completion, error) {
	return d.transferAll(d.proxy.idle(limit))
}

// transferAll carries out the requests that the other proxy has completed.
func (d *brokenDisk) transferAll(done []completion, err error) ([]completion, error) {
	for i, c := range done {
		if e, ours := d.requests[c.id]; ours {
			delete(d.requests, c.id)
			if c.result == 0 {
				done[i].result = d.transfer(e)
			}
		}
	}
	return done, err
}

func (d *brokenDisk) transfer(e entry) int32 {
	fd := int(e.fd)
	if e.how&direct != 0 {
		fd = int(d.slots[e.fd].Fd())
	}
	var stat unix.Stat_t
	_ = unix.Fstat(fd, &stat)
	at, own, trap, end := int64(e.offset), e.offset == atOwnPosition, uintptr(unix.SYS_PREAD64), stat.Size
	if own {
		at, _ = unix.Seek(fd, 0, io.SeekCurrent)
	}
	if e.op == opWrite {
		if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags&unix.O_APPEND != 0 {
			at = stat.Size
		}
		trap, end = unix.SYS_PWRITE64, math.MaxInt64
	}
	length := min(int64(e.length), max(end-at, 0))
	good := min(length, max(d.from-at, 0))
	errno := d.errno
	if good < length && d.once {
		d.from = math.MaxInt64
	}
	if good == 0 && length > 0 {
		return -int32(errno)
	}
	n, _, failed := syscall.Syscall6(trap, uintptr(fd), e.addr, uintptr(good), uintptr(at), 0, 0)
	if own && good == length {
		_, _ = unix.Seek(fd, at+int64(n), io.SeekStart)
	}
	return resultOf(n, failed)
}

// onBrokenDisk runs test on a fiber whose engine's disk is broken where test says.
func onBrokenDisk(t *testing.T, name string, test func(engines *Engines, d *brokenDisk)) {
	engines := New(Options{})
	cfg := sched.Config{Workers: 1}
	engines.Attach(&cfg)
	d := &brokenDisk{name: name, from: math.MaxInt64, requests: map[uint64]entry{}, slots: map[int32]*os.File{}}
	attached := cfg.Device
	cfg.Device = func(w *sched.Worker) (sched.Device, error) {
		device, err := attached(w)
		if err == nil {
			e := &device.(*Engine).engine
			d.proxy, e.ring, e.able[regularFiles] = e.ring, d, true
		}
		return device, err
	}
	s, err := sched.New(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Go(func() { test(engines, d) }))
	require.NoError(t, s.Close())
	require.NoError(t, engines.Close())
}

// refusals are why a disk may refuse a request. The last one is also how a request ends that is cancelled; file systems
// of users return what they like.
var refusals = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.ECANCELED}

const twelve = "twelve bytes"

// A write that ends at any byte has written what comes before it, and the next one goes on there.
func TestWriteEndsAtAnyByte(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	onBrokenDisk(t, name, func(engines *Engines, d *brokenDisk) {
		for _, flag := range []int{os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_APPEND} {
			for _, d.errno = range refusals {
				for from := range len(twelve) + 2 {
					f, err := engines.OpenFile(context.Background(), name, flag|os.O_CREATE|os.O_TRUNC, 0o600)
					if !assert.NoError(t, err) {
						return
					}
					d.from = int64(from)
					written := 0
					for _, part := range []string{twelve[:3], twelve[3:]} {
						n, err := f.Write([]byte(part))
						assert.Equal(t, min(len(part), from-written), n)
						if n < len(part) {
							assert.ErrorIs(t, err, d.errno)
						} else {
							assert.NoError(t, err)
						}
						written += n
						at, err := f.Seek(0, io.SeekCurrent)
						assert.NoError(t, err)
						assert.EqualValues(t, written, at)
					}
					d.from = math.MaxInt64
					_, err = f.Write([]byte("more"))
					assert.NoError(t, err)
					assert.NoError(t, f.Close())
					data, err := os.ReadFile(name)
					assert.NoError(t, err)
					assert.Equal(t, twelve[:written]+"more", string(data), "%v at byte %d", d.errno, from)
				}
			}
		}
	})
}

// A read that ends at any byte has read what comes before it, and the next one begins there.
func TestReadEndsAtAnyByte(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(name, []byte(twelve), 0o600))
	onBrokenDisk(t, name, func(engines *Engines, d *brokenDisk) {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_APPEND} {
			for _, d.errno = range refusals {
				for from := range len(twelve) + 2 {
					f, err := engines.OpenFile(context.Background(), name, flag, 0)
					if !assert.NoError(t, err) {
						return
					}
					good := min(from, len(twelve))
					d.from = int64(from)
					data, err := io.ReadAll(f)
					assert.Equal(t, twelve[:good], string(data))
					if good < len(twelve) {
						assert.ErrorIs(t, err, d.errno)
					} else {
						assert.NoError(t, err)
					}
					d.from = math.MaxInt64
					rest, err := io.ReadAll(f)
					assert.NoError(t, err)
					assert.Equal(t, twelve[good:], string(rest))
					assert.NoError(t, f.Close())

					d.from = int64(from)
					data, err = engines.ReadFile(context.Background(), name)
					if good < len(twelve) {
						assert.ErrorIs(t, err, d.errno)
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
	for _, size := range []int{100, slotBytes - slotTail, slotBytes, 3 * slotBytes} {
		name := filepath.Join(t.TempDir(), "file")
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i % 251)
		}
		require.NoError(t, os.WriteFile(name, data, 0o600))
		onBrokenDisk(t, name, func(engines *Engines, d *brokenDisk) {
			d.once, d.errno = true, syscall.EIO
			const head = slotBytes - slotTail
			for _, from := range []int{1, 99, head - 1, head + 1, slotBytes - 1, slotBytes + 1, 3*slotBytes - 1} {
				d.from = int64(from)
				got, err := engines.ReadFile(context.Background(), name)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(data, got), "%d bytes in place of %d, broken at %d", len(got), size, from)
			}
		})
	}
}
