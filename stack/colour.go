package stack

const (
	cacheLine = 64 // bytes

	// colours is the number of different distances between Hi and Top.
	//
	// A suspended fiber has touched a few lines below its Top last. If every Top
	// lay at the end of a page, the hottest lines of all stacks would have the same
	// low 12 address bits. They would share one or two of the 64 sets of the
	// first-level cache. A set holds 8 to 12 lines: a ring over more fibers than
	// that misses on each switch although the cache is all but empty. Moving each
	// Top down by another number of lines spreads them.
	//
	// With 32 colours the farthest Top is 1984 bytes below Hi. That uses half
	// of the sets directly and the rest by the lines below. It leaves at least
	// 2112 bytes of a 4096-byte page below every Top: a body that uses no more
	// than that still dirties a single page.
	colours = 32
)

// colouredTop returns the Top of stack number index in its slab, whose usable
// bytes end at hi.
func colouredTop(hi uintptr, index int) uintptr {
	return hi - cacheLine*uintptr(index%colours)
}
