package fiber

/*
#include "core.h"
*/
import "C"

import (
	"runtime"

	"fiberlab/fiber/internal/identity"
)

// movesP reports whether switches move the P: see handover.c. It is set before Supported first returns.
var movesP bool

// findHandover finds the words that handover.c needs on one thread and verifies them on another. Their meaning is known
// of tested releases alone.
func findHandover() {
	if !handsOnP || !tested(goVersion()) {
		return
	}
	found, verified := make(chan bool), make(chan bool)
	hold := make(chan struct{})
	defer close(hold)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		found <- compareWords(func(then *C.struct_fiberlab_words) C.int { return C.fiberlab_find_handover(then) })
		<-hold // so that the other goroutine cannot be on this thread
	}()
	if !<-found {
		return
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		verified <- compareWords(func(then *C.struct_fiberlab_words) C.int { return C.fiberlab_verify_handover(then) })
	}()
	if <-verified {
		movesP = true
		C.fiberlab_use_handover(1)
	}
}

// compareWords has look compare the words of the calling goroutine and its M while C runs with those while Go ran,
// until it finds what it looks for. The goroutine, which is locked to its thread,
// may be given another P between the two.
func compareWords(look func(then *C.struct_fiberlab_words) C.int) bool {
	for range 100 {
		then := C.struct_fiberlab_words{m: C.uintptr_t(identity.M()), g: C.uintptr_t(identity.G())}
		for i, word := range identity.Words(uintptr(then.m)) {
			then.of_m[i] = C.uintptr_t(word)
		}
		for i, word := range identity.WordsOfG(uintptr(then.g)) {
			then.of_g[i] = C.uintptr_t(word)
		}
		if look(&then) != 0 {
			return true
		}
	}
	return false
}
