package park

import (
	"sync"
	"sync/atomic"

	"fiberlab/fiber"
)

// callers maps a goroutine that runs a blocking call, by its fiber.Self, to the fiber that made the
// call, a caller. calls counts the entries.
var (
	callers sync.Map
	calls   atomic.Int64
)

// caller is a fiber, and its fiber.Self.
type caller struct {
	parker Parker
	self   uintptr
}

// CallFor calls f on the calling goroutine, on behalf of a fiber: until f has returned, Caller returns the fiber's
// parker here, and CallerSelf its fiber.Self. The goroutine itself still parks as a goroutine.
func CallFor(parker Parker, fiberSelf uintptr, f func()) {
	self := fiber.Self()
	calls.Add(1)
	callers.Store(self, caller{parker, fiberSelf})
	defer func() {
		callers.Delete(self)
		calls.Add(-1)
	}()
	f()
}

// Caller returns the fiber on whose behalf the calling goroutine runs a blocking call, or nil. The
// goroutine may use its Start, StartNow, Shared, Arena and Thread, and nothing else. It costs a nanosecond while there
// are no blocking calls, and some tens otherwise. It does not block.
func Caller() Parker { return calledFor().parker }

// CallerSelf is fiber.Self of the fiber that Caller returns, or 0.
func CallerSelf() uintptr { return calledFor().self }

// calledFor is the caller of the blocking call that the calling goroutine runs; the zero value if it runs none.
func calledFor() caller {
	if calls.Load() == 0 {
		return caller{}
	}
	if c, ok := callers.Load(fiber.Self()); ok {
		return c.(caller)
	}
	return caller{}
}
