package bench

/*
#include "count.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fiberlab/asm/ctest"
)

// processOf returns the number of the process that makes the operations of s.
func processOf(s Session) int {
	if p, is := s.(program); is {
		return p.cmd.Process.Pid
	}
	return os.Getpid()
}

// countedOperations is the n of systemCalls: each system call of an operation stops its thread twice.
const countedOperations = 500

// count sets calls and executed of all series but the floor. The notes say what is not counted, and why.
func count(all []*series) (notes []string) {
	var noCalls, noEvents error
	for _, s := range all {
		if _, confined := s.session.(*Process); confined || s.Name == floorName { // a confined process cannot be traced
			continue
		}
		if noCalls == nil {
			var calls float64
			if calls, noCalls = systemCalls(s.session); noCalls == nil {
				s.calls = &calls
			} else {
				notes = append(notes, fmt.Sprintf("From %s on, system calls are not counted: %v.", s.Name, noCalls))
			}
		}
		if noEvents == nil {
			if s.executed, noEvents = events(s.session, instructions, s.operations); noEvents != nil {
				notes = append(notes, fmt.Sprintf("From %s on, instructions are not counted: %v.", s.Name, noEvents))
			}
		}
	}
	if all[0].calls != nil {
		notes = append(notes, "System calls are counted under ptrace, where a thread is slow, and has to sleep less often.")
	}
	return notes
}

// systemCalls counts the system calls of an operation of s by ptrace: of 2n operations, less the calls of n. It leaves
// out the calls by which the Go runtime keeps watch. The runtime makes others now and then, so the fewest of three
// rounds count. It blocks until that is done, and returns an error where ptrace is forbidden.
func systemCalls(s Session) (float64, error) {
	if ctest.Emulated() {
		return 0, errors.New("the emulator has no ptrace")
	}
	var c C.struct_counter
	if failed := C.counter_start(&c, C.pid_t(processOf(s))); failed != 0 {
		return 0, fmt.Errorf("ptrace: %w", syscall.Errno(failed))
	}
	var runs [2]Sample
	_, err := s.Run(countedOperations) // the start has interrupted calls, which are made again
	C.counter_mark()
	for i := range C.COUNTED {
		if err == nil {
			runs[i%2], err = s.Run(int(1+i%2) * countedOperations)
		}
		C.counter_mark()
	}
	var calls [2]C.uint64_t
	if failed := C.counter_end(&c, &calls[0]); failed != 0 {
		return 0, fmt.Errorf("ptrace: %w", syscall.Errno(failed))
	}
	perOp, err := perOperation(float64(calls[0]), float64(calls[1]), runs[0], runs[1], err)
	return max(0, perOp), err
}

func perOperation(ofFew, ofMany float64, few, many Sample, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return (ofMany - ofFew) / float64(many.Operations-few.Operations), nil
}

// instructions are those that a processor has executed outside of the kernel.
var instructions = unix.PerfEventAttr{
	Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS,
	Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
}

// events returns how many events of that kind an operation of s makes on all threads, by perf_event_open, over n
// operations and over 2n. It returns an error where this machine does not count them, or not for this user.
func events(s Session, kind unix.PerfEventAttr, n int) (float64, error) {
	kind.Size = uint32(unsafe.Sizeof(kind))
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", processOf(s)))
	var counters []*os.File
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		fd, err := unix.PerfEventOpen(&kind, id, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			c := os.NewFile(uintptr(fd), "perf")
			defer c.Close()
			counters = append(counters, c)
		} else if !errors.Is(err, unix.ESRCH) { // else the thread has ended
			return 0, fmt.Errorf("perf_event_open: %w", err)
		}
	}
	read := func() (sum float64) {
		for _, c := range counters {
			var count [8]byte
			_, failed := unix.Read(int(c.Fd()), count[:])
			err = errors.Join(err, failed)
			sum += float64(*(*uint64)(unsafe.Pointer(&count)))
		}
		return sum
	}
	start := read()
	few, err1 := s.Run(n)
	middle := read()
	many, err2 := s.Run(2 * n)
	ofMany := read() - middle // adds to err, if it fails
	return perOperation(middle-start, ofMany, few, many, errors.Join(err, err1, err2))
}
