package fiber

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"unsafe"
)

// profileTimers counts the timers of CPU profiles that Drain has dealt with.
var profileTimers struct {
	mu   sync.Mutex // held while Ms are lent to delete their timers
	kept int        // timers that were left the last time: of Ms that are in use
}

// endTimers deletes the timers that a CPU profile has left with dropped Ms. It blocks for a
// microsecond or two for each M, if there are new timers, and does nothing while a profile is taken.
//
// Ms that are in use keep theirs; to look for these again at each call would be in vain. Two
// callers at a time would both have all dropped Ms lent to them, and the runtime would have to make as many again.
func endTimers() error {
	t := &profileTimers
	t.mu.Lock()
	defer t.mu.Unlock()
	n := C.fiberlab_dropped()
	if n <= 0 || C.fiberlab_profiling() != 0 {
		return nil
	}
	if countTimers() <= t.kept {
		return nil
	}
	err := lendAll(n)
	t.kept = countTimers()
	return err
}

// countTimers returns how many timers send SIGPROF, and 0 where the kernel does not list them: there they stay.
func countTimers() int {
	timers, err := os.ReadFile("/proc/self/timers")
	if err != nil {
		return 0
	}
	return bytes.Count(timers, []byte("\nsignal: 27/"))
}

// lendAll has n Ms lent, each of which deletes its timer then, and drops them.
func lendAll(n C.int64_t) error {
	return onRoot(attach, probed, func(root *Fiber) error {
		count := (*C.int64_t)(C.malloc(C.size_t(unsafe.Sizeof(n))))
		*count = n
		defer C.free(unsafe.Pointer(count))
		f, err := NewC(
			Config{Name: "ending timers", Backend: probed}, unsafe.Pointer(C.fiberlab_lend_all), unsafe.Pointer(count),
		)
		if err != nil {
			return err
		}
		return errors.Join(root.SwitchTo(f), f.Close())
	})
}

//export fiberlabEnterGo
func fiberlabEnterGo() { C.fiberlab_identity_block_signals() } // the M is dropped next
