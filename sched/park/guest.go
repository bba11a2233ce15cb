package park

import (
	"sync"
	"sync/atomic"

	"fiberlab/fiber"
)

// hosts has the host of each guest, by the guest's fiber.Self. guests is how many there are.
var (
	hosts  sync.Map
	guests atomic.Int64
)

// AsGuest calls f on the calling goroutine, which belongs to host's scheduler until f has returned: Host returns
// host. It waits as the goroutine that it is.
func AsGuest(host Party, f func()) {
	self := fiber.Self()
	guests.Add(1)
	hosts.Store(self, host)
	defer func() {
		hosts.Delete(self)
		guests.Add(-1)
	}()
	f()
}

// Host returns the party for which the caller, a plain goroutine, makes a call, or nil. Its
// Start may be called by the caller; nothing else of it is for others. It costs a nanosecond if
// nobody makes a call, and some tens otherwise. It does not block.
func Host() Party {
	if guests.Load() == 0 {
		return nil
	}
	if host, ok := hosts.Load(fiber.Self()); ok {
		return host.(Party)
	}
	return nil
}
