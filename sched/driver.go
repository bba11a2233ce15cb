package sched

import (
	"time"

	"fiberlab/internal/clock"
)

// driver is how an idle worker waits and is woken. Each worker has one. The policy decides which worker to
// wake; the driver, how.
//
// A worker that has found nothing to run calls prepare, looks for work once more, calls commit and then sleep. Another thread first puts work
// where the worker will look, and then calls notify. So either the worker sees the work, or
// commit finds that it was notified.
type driver interface {
	// prepare says that the worker has found nothing: a notify from now on is kept.
	prepare()
	// spin waits awake: until notify has been called, seek has returned true, the time has come, or it
	// does not pay any more. seek is called now and then. The driver must be prepared.
	spin(until clock.Instant, seek func() bool)
	// commit says that the worker is about to sleep. It returns false if notify has been called
	// since prepare.
	commit() bool
	// sleep blocks the thread, after commit, until notify is called or limit has passed; a limit below 0
	// is none. It may also return for no reason.
	sleep(limit time.Duration)
	// work says that the worker has found something to run: notify has nothing to do.
	work()

	// Any thread may call the following; none of them blocks.

	// notify tells the worker to look for work, and wakes it if it sleeps. It returns false if the worker is busy, or
	// has been told already.
	notify() bool
	// stop is notify for the last time: everything has ended, and the worker need not sleep any more.
	stop()
	// notified tells whether the worker is busy, or has been told to look for work.
	notified() bool
	// asleep tells whether the worker sleeps, or is about to, and has not been notified.
	asleep() bool
	// waking tells whether the worker has slept and is just being woken.
	waking() bool
}

// newDriver makes the driver of a worker that is locked to its thread, or is not.
func newDriver(p Policy, mode mode, locked bool) driver {
	switch {
	case !locked:
		return newGoroutineDriver()
	case p == Group && mode == multiThreaded:
		return newSlotDriver()
	}
	return newFutexDriver()
}
