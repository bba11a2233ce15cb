package park

import "sync"

// Arena is a set of workers that share tasks: a task that is started in it waits where any of them may begin it. So as
// long as one of them has time, it begins. A scheduler has one arena for all its workers, or one for each part of them
// that sees to itself.
type Arena struct {
	// Start has f called as a task of the arena. It is Parker.StartNow for any caller: it waits neither for f nor for
	// room, and returns the scheduler's error if that does not accept f. A task that is accepted begins: closing the
	// scheduler does not drop it.
	Start func(f func()) error

	Opened sync.Once // makes Open
	Open   any       // the calls that helpers in the arena may take; it belongs to package fibersync
}
