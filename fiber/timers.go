package fiber

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"bytes"
	"os"
	"unsafe"
)

// endTimers deletes the timers that a CPU profile has left with dropped Ms. It blocks for a
// microsecond or two for each M, if there are any timers, and does nothing while a profile is taken.
func endTimers() error {
	n := C.fiberlab_dropped()
	if n <= 0 || C.fiberlab_profiling() != 0 {
		return nil
	}
	// Where the kernel does not list them, they stay.
	if timers, err := os.ReadFile("/proc/self/timers"); err != nil || !bytes.Contains(timers, []byte("\nsignal: 27/")) {
		return nil
	}
	return onRoot(Asm, func(root *Fiber) error {
		count := (*C.int64_t)(C.malloc(C.size_t(unsafe.Sizeof(n))))
		*count = n
		defer C.free(unsafe.Pointer(count))
		f, err := NewC(Config{Name: "ending timers", Backend: Asm}, unsafe.Pointer(C.fiberlab_lend_all), unsafe.Pointer(count))
		if err != nil {
			return err
		}
		if err := root.SwitchTo(f); err != nil {
			return err
		}
		return f.Close()
	})
}

//export fiberlabEnterGo
func fiberlabEnterGo() {}
