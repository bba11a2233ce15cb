package park

import (
	"sync"
	"sync/atomic"
	"time"

	"fiberlab/fiber"
)

// Parker blocks and wakes one fiber or one goroutine. It holds a token: Unpark puts the
// token there, and Park waits until it is there and takes it.
type Parker interface {
	// Park blocks the caller, which must be the parker itself, until there is a token, or
	// until deadline if that is not the zero time. A token that is there already makes
	// it return immediately. Park may also return for no reason: the caller checks what
	// it waits for, and parks again.
	//
	// A fiber may go on on another worker and another thread afterwards.
	Park(deadline time.Time)

	// Unpark makes the token available; there is at most one. It may be called from any
	// fiber or goroutine at any time, and blocks no longer than a queue operation takes.
	// What its caller has stored before, even if by a release only, is visible to the
	// parker when that Park has returned. That also holds for an Unpark that finds
	// the token there already.
	Unpark()

	// Start has f called concurrently with the caller, which must be the parker: by another
	// fiber of its scheduler, or on a goroutine. It does not wait for f, but for room, if the scheduler
	// limits how many tasks wait to begin. It returns the
	// scheduler's error if the scheduler does not accept f.
	Start(f func()) error

	// StartNow is Start that does not wait for room either: f is started even if as many tasks wait to begin as the
	// scheduler allows. It is for callbacks, which are started by code that may hold a lock.
	StartNow(f func()) error

	// CanPark returns nil if the parker, which must be the caller, may park now. Otherwise Park would panic, unless there
	// is a token, and CanPark returns the error. A primitive calls CanPark before it queues the parker. So does code that
	// starts what it will wait for, such as a read into memory.
	CanPark() error

	// WaiterSlot is where a primitive keeps one object from one wait to the next, to save
	// an allocation. Only the parker itself may use it. It is nil if there is no such slot.
	WaiterSlot() *any
}

// Scheduled is a Parker that has a scheduler: a fiber.
type Scheduled interface {
	Parker

	// Yield lets other fibers of the caller's thread, and a task that waits for it, go first.
	// The caller must be the fiber itself. It returns at once if there are none.
	Yield()

	// LocalSlot is the fiber-local slot: it holds one value of the present task. It is nil
	// when a task begins, and is cleared when the task ends, in whatever way. Only the
	// fiber itself may use it, so it needs no lock.
	LocalSlot() *any

	// Awaits says what the fiber, which must be the caller, is about to park for, so that
	// reports of a deadlock can name it. The next Park forgets it when it returns.
	Awaits(what Awaited)

	// Shared returns the data that all fibers of one scheduler share.
	Shared() *Shared

	// Arena returns the arena where Start puts tasks now. It changes only if the fiber migrates. Any goroutine may
	// ask for it at any time.
	Arena() *Arena

	// Thread identifies the thread that the fiber needs in order to run: fibers with equal
	// values cannot go on while one of them computes. A fiber that may migrate
	// returns AnyThread(). The value does not change while the fiber runs a task, and any
	// goroutine may ask for it at any time.
	Thread() any
}

// Shared is the data that all fibers of one scheduler share. The zero value is ready.
type Shared struct {
	BlockingCalls atomic.Int64 // calls that run elsewhere on behalf of fibers, which may wake fibers

	MaxCalls int       // how many blocking calls may run at once; 0: any number. It never changes
	Calls    sync.Once // makes Gate
	Gate     any       // limits the blocking calls; it belongs to package fibersync
}

// Thread identifies what p needs in order to run. For a fiber that stays on one thread it returns p.Thread(). For a
// fiber that may migrate it returns p.Arena(), since the fibers of an arena compete for its workers. For a goroutine it
// returns AnyThread(), since the Go runtime finds a thread for it.
func Thread(p Parker) any {
	s, ok := p.(Scheduled)
	if !ok {
		return anyThread
	}
	if thread := s.Thread(); thread != anyThread {
		return thread
	}
	return s.Arena()
}

// AnyThread is the thread of a parker that can run on more than one.
func AnyThread() any { return anyThread }

var anyThread any = new(byte)

// Migrates reports whether thread, a result of the function Thread, stands for fibers that may migrate.
func Migrates(thread any) bool {
	_, ok := thread.(*Arena)
	return ok
}

// Current returns the caller as a Parker if it runs on a fiber that has a scheduler, and
// nil otherwise. It costs some nanoseconds and does not block.
//
// A fiber without a scheduler counts as a goroutine and blocks its thread, since no
// other fiber could go on in its place.
func Current() Parker {
	if f := fiber.Current(); f != nil {
		if p, ok := f.Value().(Parker); ok {
			return p
		}
	}
	return nil
}

// LocalSlot returns the caller's fiber-local slot if the caller is Scheduled, and nil
// otherwise. It costs some nanoseconds and does not block.
func LocalSlot() *any {
	if f := fiber.Current(); f != nil {
		if s, ok := f.Value().(Scheduled); ok {
			return s.LocalSlot()
		}
	}
	return nil
}

// CanPark returns nil unless the caller is a fiber that must not park now; then it returns the error of
// Parker.CanPark.
func CanPark() error {
	if p := Current(); p != nil {
		return p.CanPark()
	}
	return nil
}
