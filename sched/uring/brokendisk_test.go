package uring

import (
	"io"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
)

// BrokenDisk is a proxy by which a file cannot be read or written from one byte on. It does what the kernel does then:
// a request that begins before that byte ends there, and leaves the kernel's position where it was. It serves
// files itself, when the other proxy has completed a request that does nothing.
type BrokenDisk struct {
	proxy
	From  int64         // the byte
	Errno syscall.Errno // why
	Once  bool          // the disk is whole again after a request has met the byte

	requests map[uint64]Entry // those of files that are under way
}

func (d *BrokenDisk) can(a Ability) bool { return a == Files || d.proxy.can(a) }

func (d *BrokenDisk) stage(e Entry) bool {
	staged := e
	ours := e.Op == OpRead || e.Op == OpWrite || e.Op == OpOpen || e.Op == OpClose
	if ours {
		staged = Entry{id: e.id, Op: OpNop}
	}
	if !d.proxy.stage(staged) {
		return false
	}
	if ours {
		d.requests[e.id] = e
	}
	return true
}

func (d *BrokenDisk) turn(limit time.Duration) ([]Completion, error) {
	return d.transferAll(d.proxy.turn(limit))
}

func (d *BrokenDisk) idle(limit time.Duration) ([]Completion, error) {
	return d.transferAll(d.proxy.idle(limit))
}

// transferAll carries out the requests that the other proxy has completed.
func (d *BrokenDisk) transferAll(done []Completion, err error) ([]Completion, error) {
	for i, c := range done {
		if e, ours := d.requests[c.id]; ours {
			delete(d.requests, c.id)
			if c.Result == 0 {
				done[i].Result = d.carryOut(e)
			}
		}
	}
	return done, err
}

func (d *BrokenDisk) carryOut(e Entry) int32 {
	fd := int(e.FD)
	switch e.Op {
	case OpOpen:
		opened, _, failed := syscall.Syscall6(
			unix.SYS_OPENAT, uintptr(fd), e.Addr, uintptr(e.Flags), uintptr(e.Offset), 0, 0,
		)
		if failed != 0 {
			return -int32(failed)
		}
		return int32(opened)
	case OpClose:
		_ = unix.Close(fd)
		return 0
	}
	var stat unix.Stat_t
	_ = unix.Fstat(fd, &stat)
	at, own, trap, end := int64(e.Offset), int64(e.Offset) == OwnPosition, uintptr(unix.SYS_PREAD64), stat.Size
	if own {
		at, _ = unix.Seek(fd, 0, io.SeekCurrent)
	}
	if e.Op == OpWrite {
		if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags&unix.O_APPEND != 0 {
			at = stat.Size
		}
		trap, end = unix.SYS_PWRITE64, math.MaxInt64
	}
	length := min(int64(e.Length), max(end-at, 0))
	good := min(length, max(d.From-at, 0))
	errno := d.Errno
	if good < length && d.Once {
		d.From = math.MaxInt64
	}
	if good == 0 && length > 0 {
		return -int32(errno)
	}
	n, _, failed := syscall.Syscall6(trap, uintptr(fd), e.Addr, uintptr(good), uintptr(at), 0, 0)
	if own && good == length {
		_, _ = unix.Seek(fd, at+int64(n), io.SeekStart)
	}
	if failed != 0 {
		return -int32(failed)
	}
	return int32(n)
}

// OnBrokenDisk runs test on a fiber whose engine's disk is broken where test says.
func OnBrokenDisk(t *testing.T, test func(engines *Engines, d *BrokenDisk)) {
	engines := New(Options{})
	cfg := sched.Config{Workers: 1}
	engines.Attach(&cfg)
	d := &BrokenDisk{From: math.MaxInt64, requests: map[uint64]Entry{}}
	attached := cfg.Device
	cfg.Device = func(w *sched.Worker) (sched.Device, error) {
		device, err := attached(w)
		if err == nil {
			e := device.(*Engine)
			d.proxy, e.ring, e.able[Files] = e.ring, d, true
		}
		return device, err
	}
	s, err := sched.New(cfg)
	require.NoError(t, err)
	require.NoError(t, s.Go(func() { test(engines, d) }))
	require.NoError(t, s.Close())
	require.NoError(t, engines.Close())
}
