package park

import (
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
)

// Party is one who can wait.
type Party interface {
	// Park blocks the party, which must be the caller, until Unpark has been called, or
	// until deadline if that is not the zero time. An Unpark that comes before Park is
	// kept, once, and makes it return immediately. Park may also return for no
	// reason: the caller looks at what it waits for, and parks again.
	Park(deadline time.Time)

	// Unpark makes Park return, the present call or else the next one. Anybody may call
	// it at any time; it blocks no longer than a queue operation takes. When that
	// Park has returned, the party sees what the caller of Unpark had stored before, be it
	// by a release only; that holds, too, for an Unpark that adds nothing to one still kept.
	Unpark()

	// Start has f called beside the party, which must be the caller: by another fiber of
	// its scheduler, or on a goroutine. It does not wait for f. The error, if any, is
	// the scheduler's.
	Start(f func()) error

	// Spare is where one thing may lie that was of use in a wait and will be in the next.
	// Only the party itself may use it. Nil: it has no such place.
	Spare() *any
}

// Keeper is a Party that serves one task after the other, and has a place for what
// belongs to the present one.
type Keeper interface {
	Party

	// Place is where one value may be kept. It holds nil when a task begins, and the
	// value is dropped when the task ends, however it ends. Only the party itself may
	// use it, so it needs no lock.
	Place() *any
}

// Scheduled is a Party that has a scheduler.
type Scheduled interface {
	Party

	// Shared returns what they share: the same for all parties of one scheduler.
	Shared() *Shared

	// Thread returns the same for all parties that run on one thread, by turns: none of them
	// can go on while another one computes.
	Thread() any
}

// Shared is what all parties of one scheduler share. The zero value is ready.
type Shared struct {
	Late   atomic.Int64 // tasks that will find nothing to do when they begin: what they were started for is over
	Strict atomic.Int64 // parties that wait until all tasks that they have started have begun
	Away   atomic.Int64 // parties whose blocking call runs elsewhere: they will go on

	MostCalls int       // how many blocking calls may run at once; 0: any number. It never changes
	Calls     sync.Once // makes Gate
	Gate      any       // what lets no more calls begin; the primitives' own
}

// Thread returns p's thread if it is a Scheduled. Other parties get one from the Go runtime when they
// need it: they all count as being on the same, which is never busy.
func Thread(p Party) any {
	if m, ok := p.(Scheduled); ok {
		return m.Thread()
	}
	return anyThread
}

// IsAnyThread tells whether a party on that thread can go on at once.
func IsAnyThread(thread any) bool { return thread == anyThread }

var anyThread any = new(byte)

// Fiber returns the caller as a Party if it runs on a fiber that has a scheduler, and
// nil otherwise. It costs some nanoseconds and does not block.
//
// A fiber that no scheduler knows is nobody who can be parked, for nobody could go on in
// its place: it counts as a goroutine, and blocks its thread.
func Fiber() Party {
	if f := fiber.Current(); f != nil {
		if p, ok := f.Value().(Party); ok {
			return p
		}
	}
	return nil
}

// Place returns the caller's own place if it is a Keeper, and nil otherwise. It costs some
// nanoseconds and does not block.
func Place() *any {
	if f := fiber.Current(); f != nil {
		if k, ok := f.Value().(Keeper); ok {
			return k.Place()
		}
	}
	return nil
}
