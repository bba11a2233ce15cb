package fiber

import (
	"runtime/debug"
	"sync"
	"unsafe"

	"fiberlab/fiber/internal/identity"
)

// Residue is what a function can leave on its goroutine for the function that runs there next:
// the labels of the profiler (pprof.SetGoroutineLabels) and debug.SetPanicOnFault. A goroutine that runs one
// function takes both with it when it ends; a fiber's goroutine runs one function after the other.
//
// The runtime keeps each in a field of the g. Their offsets are found by their values, so
// Clear costs two loads if nothing was left. If they are not found, it costs two calls.
type Residue struct {
	labels *unsafe.Pointer
	fault  *bool
}

// ResidueHere returns the residue of the calling goroutine. Only this goroutine may use it, on any thread.
func ResidueHere() Residue {
	at := residueOffsets()
	if !at.known {
		return Residue{}
	}
	g := pointer(identity.G())
	return Residue{(*unsafe.Pointer)(unsafe.Add(g, at.labels)), (*bool)(unsafe.Add(g, at.fault))}
}

// Clear removes it: afterwards the goroutine has no labels, and a fault ends the program.
func (r *Residue) Clear() {
	if r.labels == nil || *r.labels != nil || *r.fault {
		clearResidue()
	}
}

// clearResidue is Clear for the calling goroutine, by the runtime's own functions.
func clearResidue() {
	if identity.ProfLabels() != nil {
		identity.SetProfLabels(nil)
	}
	debug.SetPanicOnFault(false)
}

// offsets are the offsets of the residue in a g, in bytes.
type offsets struct {
	labels, fault int
	known         bool
}

// residueOffsets finds them on one goroutine and verifies them on another.
var residueOffsets = sync.OnceValue(func() offsets {
	first := findResidue()
	second := make(chan offsets)
	go func() { second <- findResidue() }()
	if first != <-second {
		return offsets{}
	}
	return first
})

// searchedG is how many bytes of a g are searched at most. The search ends at the labels, which every release
// has had within that distance.
const searchedG = 512

// findResidue finds them in the calling goroutine's g, which it leaves as it was.
func findResidue() offsets {
	g := pointer(identity.G())
	before := identity.ProfLabels()
	// A profiler that samples now reads an empty slice of labels. The first mark is not used: it may lie where the
	// goroutine's stack ends, and that address is in the g, too.
	marks := new([3][8]uintptr)
	at := offsets{labels: findLabels(g, unsafe.Pointer(&marks[1]))}
	at.known = at.labels >= 0 && at.labels == findLabels(g, unsafe.Pointer(&marks[2]))
	identity.SetProfLabels(before)
	if at.known {
		at.fault, at.known = findFault(g, at.labels)
	}
	if !at.known {
		return offsets{}
	}
	return at
}

// findLabels gives the goroutine these labels and returns where its g has them, or -1.
func findLabels(g, labels unsafe.Pointer) int {
	identity.SetProfLabels(labels)
	defer identity.SetProfLabels(nil)
	for at := 0; at < searchedG; at += int(unsafe.Sizeof(g)) {
		if *(*unsafe.Pointer)(unsafe.Add(g, at)) == labels {
			return at
		}
	}
	return -1
}

// findFault returns which byte of the g, before the given one, follows SetPanicOnFault. The setting is
// changed back and forth, and every other byte has another value at least once.
func findFault(g unsafe.Pointer, end int) (at int, found bool) {
	was := debug.SetPanicOnFault(false)
	defer debug.SetPanicOnFault(was)
	hits := make([]int, end)
	const times = 16
	for i := range times {
		set := i%2 == 1
		debug.SetPanicOnFault(set)
		for b := range hits {
			if now := *(*byte)(unsafe.Add(g, b)); now == 0 && !set || now == 1 && set {
				hits[b]++
			}
		}
	}
	n := 0
	for b, h := range hits {
		if h == times {
			at = b
			n++
		}
	}
	return at, n == 1
}

// pointer converts an address that the runtime has given as a number.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
