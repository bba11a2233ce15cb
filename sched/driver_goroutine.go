package sched

import (
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched/park"
)

// goroutineDriver is the driver of workers that are not locked to a thread: it parks the worker as any goroutine is
// parked, so that its thread goes on with other goroutines.
type goroutineDriver struct {
	countWord // never countWaking
	parker    *park.Goroutine
}

func newGoroutineDriver() *goroutineDriver {
	return &goroutineDriver{parker: park.NewGoroutine()}
}

// waking is false: a goroutine that is woken is as good as awake.
func (d *goroutineDriver) waking() bool { return false }

// spin seeks once: to wake a goroutine costs less than to spin.
func (d *goroutineDriver) spin(_ clock.Instant, seek func() bool) { seek() }

func (d *goroutineDriver) notify() bool {
	idle, asleep := d.tell()
	if asleep {
		d.parker.Unpark()
	}
	return idle
}

func (d *goroutineDriver) stop() { d.notify() }

func (d *goroutineDriver) sleep(limit time.Duration) {
	var deadline time.Time
	if limit >= 0 {
		deadline = time.Now().Add(limit)
	}
	d.parker.Park(deadline)
	d.work()
}
