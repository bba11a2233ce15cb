package park

// Awaited is a primitive that can describe itself in the report of a deadlock.
type Awaited interface {
	// Awaited names the primitive, and identifies its holder by fiber.Self: 0 if it has no
	// holder or does not know it. It may be called from anywhere at any time, and must
	// not block.
	Awaited() (name string, holder uintptr)
}
