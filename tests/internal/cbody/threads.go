package cbody

// #include "cbody.h"
import "C"

import "syscall"

//export cbodyStayInGo
func cbodyStayInGo() { C.cbody_stay() }

// StartThreads starts threads of C, one after the other, and returns when all are there. They stay until EndThreads,
// which must be called before the next StartThreads. If inGo is true, each has called Go and stays in that call; Go has
// called C again.
func StartThreads(n int, inGo bool) error {
	var in C.int
	if inGo {
		in = 1
	}
	if errno := C.cbody_start(C.int(n), in); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}

// EndThreads has the threads of StartThreads return, and returns when they have ended.
func EndThreads() { C.cbody_end() }
