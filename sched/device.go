package sched

import (
	"fmt"
	"time"
)

// Device is what a worker waits for beside tasks and notifications, such as a ring of input and output. While the
// worker has things to run it polls the device now and then; when it has none it sleeps in the device and not on a
// futex. So whichever comes first, a completion or a task, goes on at once.
//
// Ready, Poll, Wait and Close are called on the worker's thread. They run on the stack of a fiber that may be blocked:
// they must not wait as a fiber does, but may notify fibers and enqueue tasks by TryEnqueue. A panic ends the program,
// since it must not unwind the task of that fiber.
type Device interface {
	// Ready reports whether Poll has something to do. It is called often. It need not see at once what has come since
	// the last call of Poll or Wait.
	Ready() bool
	// Poll submits and collects what it can without blocking. It is called while the worker has things to run.
	Poll()
	// Wait submits, and blocks the thread until something can be collected, Wake is called, or limit has passed; below
	// 0 is no limit. It collects what it can, and may also return for no reason. If it has notified a fiber or queued a
	// task, it must return, and not block. brief says that the wait is expected to be short. It is called when the
	// worker has nothing to run.
	Wait(limit time.Duration, brief bool)
	// Wake ends the Wait that is under way; if none is, the next one. Any thread may call it, even several at once and
	// after Close, when it does nothing. It does not block.
	Wake()
	// Pending is how many operations are under way that fibers or goroutines wait for: as long as there are any, there
	// is no deadlock. Any thread may call it, even after Close.
	Pending() int
	// Close is called last, when no fiber of the worker is left but its main fiber. Goroutines may have operations
	// under way, which it ends: they do not keep Scheduler.Close from returning. An error ends the program, since
	// operations may then go on writing to memory of their callers.
	Close() error
}

// leastBetweenPolls is the least length of a busy worker's round, in its own polls: see pollDevice. The worker polls
// after each task, at each Yield, and after mostResumed ready fibers or fewer. So requests go to the device in batches.
const leastBetweenPolls = 4

// pollDevice polls the device in one call of each round; Worker.poll calls it. A round has as many calls as fibers were
// ready when it began, and leastBetweenPolls at least. A worker that has nothing to run does not poll its device here:
// it goes on to Wait, which submits and collects in one step.
func (w *Worker) pollDevice() {
	o := &w.local
	if o.round--; o.round > 0 || o.ready.Empty() && !w.hasTask() {
		return
	}
	o.round = max(leastBetweenPolls, o.ready.Len())
	if o.device.Ready() {
		o.device.Poll()
	}
}

// pollAlone polls the device, if it is ready, for f, the calling fiber. f yields while nothing else is to run, so the
// worker does not call Wait in the meantime. pollAlone reports whether there is something to run now.
func (w *Worker) pollAlone(f *Fiber) bool {
	d := w.local.device
	if d == nil || !d.Ready() {
		return false
	}
	d.Poll()
	return w.hasWork(f)
}

// openDevice makes the device of a worker that has a thread, if Config.Device is set. It is called on that thread.
func (w *Worker) openDevice() error {
	open := w.scheduler.cfg.Device
	if open == nil || !w.threaded {
		return nil
	}
	d, err := open(w)
	if err != nil {
		return fmt.Errorf("the device of %s: %w", w.name, err)
	}
	if d != nil {
		w.device.Store(&d)
		w.local.device = guardedDevice{d, w}
		w.word.SetDevice(w.local.device)
	}
	return nil
}

// Device returns what Config.Device has made for w, or nil if w has no device, or has closed it. A fiber finds the
// device of the worker that runs it now by Current().Worker().Device(). It may be called from anywhere, and does not
// block.
func (w *Worker) Device() Device {
	if w == nil {
		return nil
	}
	if d := w.device.Load(); d != nil {
		return *d
	}
	return nil
}

// closeDevice closes the device, if there is one. The worker calls it on its thread when its fibers have ended.
func (w *Worker) closeDevice() error {
	d := w.local.device
	if d == nil {
		return nil
	}
	w.local.device = nil
	w.device.Store(nil)
	return d.Close()
}

// guardedDevice is a device whose panics end the program.
type guardedDevice struct {
	Device
	worker *Worker
}

func (d guardedDevice) Ready() (ready bool) {
	mustReturn("Device.Ready", d.worker, func() { ready = d.Device.Ready() })
	return ready
}

func (d guardedDevice) Poll() { mustReturn("Device.Poll", d.worker, d.Device.Poll) }

func (d guardedDevice) Wait(limit time.Duration, brief bool) {
	mustReturn("Device.Wait", d.worker, func() { d.Device.Wait(limit, brief) })
}

// devicesPending reports whether a device of a worker has operations under way. Any thread may call it.
func (s *Scheduler) devicesPending() bool {
	for _, w := range s.workers {
		if d := w.Device(); d != nil && d.Pending() > 0 {
			return true
		}
	}
	return false
}
