package fiber

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"fiberlab/fiber/internal/identity"
)

// threadLock is how a goroutine is tied to its thread. The runtime compares it at each switch
// between coroutines, and ends the program if it differs from what it was when the coroutine was made.
type threadLock struct {
	m      uintptr   // the M that it is tied to; 0: to none
	counts [2]uint32 // the locks of that M: by runtime.LockOSThread, and by callbacks from C and the like
}

// lockWords are offsets in bytes: of the M that a g is tied to, in the g, and of the counts, in an M.
type lockWords struct {
	m, counts int
}

// locks has them once a root has been attached. They are found by the values
// there, on two goroutines. If they are not found, a switch that the runtime forbids
// cannot be predicted.
var (
	locks      lockWords
	locksKnown atomic.Bool
)

var findLocks = sync.OnceFunc(func() {
	found := make(chan lockWords)
	for range 2 {
		go func() { found <- findLockWords() }()
	}
	if first := <-found; first == <-found && first != (lockWords{}) {
		locks = first
		locksKnown.Store(true)
	}
})

// Locked reports whether the calling goroutine is locked to its thread: by runtime.LockOSThread, as the root or the
// fiber of a root that is, or since C has called it. Until a root has been attached it returns false. It costs a
// nanosecond, and may be called from anywhere.
func Locked() bool { return locksKnown.Load() && locks.tiedTo(identity.G()) != 0 }

// threadLockOf returns the threadLock of the calling goroutine g. The offsets must be known.
func threadLockOf(g uintptr) threadLock {
	m := locks.tiedTo(g)
	if m == 0 {
		return threadLock{}
	}
	return threadLock{m, locks.countsOf(m)}
}

// holds reports whether the calling goroutine g is still tied to its thread as l says.
// It costs about a nanosecond.
func (l *threadLock) holds(g uintptr) bool {
	if !locksKnown.Load() {
		return true
	}
	m := locks.tiedTo(g)
	return m == l.m && (m == 0 || locks.countsOf(m) == l.counts)
}

// restore undoes the calls of runtime.LockOSThread that the calling goroutine g has made since
// l was read.
func (l *threadLock) restore(g uintptr) {
	if l.holds(g) {
		return
	}
	for n := threadLockOf(g).counts[0]; n > l.counts[0]; n-- {
		runtime.UnlockOSThread()
	}
}

func (w *lockWords) tiedTo(g uintptr) uintptr {
	return *(*uintptr)(pointer(g + uintptr(w.m)))
}

func (w *lockWords) countsOf(m uintptr) [2]uint32 {
	return *(*[2]uint32)(pointer(m + uintptr(w.counts)))
}

// searchedM is how many bytes of an M are searched. It has more.
const searchedM = 1024

// findLockWords finds the offsets. The calling goroutine must not be tied to its thread.
func findLockWords() lockWords {
	const wordSize = 8
	end := residueOffsets().labels // they come after the word in a g
	g := identity.G()
	var tied, counts []int
	for at := 0; at < end; at += wordSize {
		tied = append(tied, at)
	}
	for at := 0; at < searchedM; at += wordSize / 2 {
		counts = append(counts, at)
	}
	keep := func(from []int, base uintptr, is func(*[2]uint32, uintptr) bool) []int {
		return slices.DeleteFunc(from, func(at int) bool {
			p := pointer(base + uintptr(at))
			return !is((*[2]uint32)(p), *(*uintptr)(p))
		})
	}
	const depth = 4
	for n := range uint32(depth) {
		runtime.LockOSThread()
		m := identity.M()
		tied = keep(tied, g, func(_ *[2]uint32, word uintptr) bool { return word == m })
		counts = keep(counts, m, func(pair *[2]uint32, _ uintptr) bool { return *pair == [2]uint32{n + 1, 0} })
	}
	for range depth {
		runtime.UnlockOSThread()
	}
	tied = keep(tied, g, func(_ *[2]uint32, word uintptr) bool { return word == 0 })
	if len(tied) != 1 || len(counts) != 1 {
		return lockWords{}
	}
	return lockWords{tied[0], counts[0]}
}
