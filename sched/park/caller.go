package park

import (
	"sync"
	"sync/atomic"

	"fiberlab/fiber"
)

// callers maps a goroutine that runs a blocking call, by its fiber.Self, to the Parker that made the
// call. calls counts the entries.
var (
	callers sync.Map
	calls   atomic.Int64
)

// CallFor calls f on the calling goroutine, on behalf of caller, a fiber: until f has returned, Caller
// returns caller here. The goroutine itself still parks as a goroutine.
func CallFor(caller Parker, f func()) {
	self := fiber.Self()
	calls.Add(1)
	callers.Store(self, caller)
	defer func() {
		callers.Delete(self)
		calls.Add(-1)
	}()
	f()
}

// Caller returns the fiber on whose behalf the calling goroutine runs a blocking call, or nil. The
// goroutine may use its Start, StartNow, Shared, Arena and Thread, and nothing else. It costs a nanosecond while there
// are no blocking calls, and some tens otherwise. It does not block.
func Caller() Parker {
	if calls.Load() == 0 {
		return nil
	}
	if caller, ok := callers.Load(fiber.Self()); ok {
		return caller.(Parker)
	}
	return nil
}
