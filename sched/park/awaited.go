package park

// Awaited is a primitive that can say more of itself, when it is asked why its waiters do not
// go on, than its type.
type Awaited interface {
	// Awaited names the primitive, and tells who holds it: by its number, see fiber.Self, or
	// 0 if nobody does or it does not know. It may be called by anybody at any time, and
	// must not block.
	Awaited() (name string, holder uintptr)
}

// Teller is a Party that can be asked what it waits for. Before it parks, it may say so by
// Awaits; it forgets that when Park returns. Only the party itself may call it.
type Teller interface {
	Awaits(what Awaited)
}
