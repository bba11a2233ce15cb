package uring

import (
	"fmt"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/sched"
)

// Engine does input and output on one thread, that of a worker or another. The requests that a fiber of the worker
// makes of it complete on that worker. All others leave their requests in its mailbox.
type Engine struct {
	engine engine
	slots  fileSlots
	set    *Engines
	worker *sched.Worker // nil: its thread is no worker's

	brief bool // its last wait was
	slice slice

	stopping atomic.Bool   // the Engines are closed: it refuses requests, and its own thread is to end
	ended    chan struct{} // it has
}

var _ sched.Device = (*Engine)(nil)

// Ready implements sched.Device.
func (e *Engine) Ready() bool {
	return e.engine.ring.ready() || e.engine.hasRequests() || e.stopping.Load() && !e.engine.refuses
}

// Poll implements sched.Device.
func (e *Engine) Poll() {
	e.refuseIfClosed()
	e.must(e.engine.pollSubmit(0, true, never))
	e.slice.mayEnd(clock.Now())
}

// Wait implements sched.Device.
func (e *Engine) Wait(limit time.Duration, brief bool) {
	e.refuseIfClosed()
	began := e.slice.mayEnd(clock.Now()) // before the wait, when nothing is late by it
	e.must(e.engine.pollSubmit(limit, brief || e.brief, never))
	e.engine.kicked.Store(false) // the worker is awake: whatever woke it, it looks for work next
	e.brief = clock.Now()-began < briefWait
}

// refuseIfClosed ends what is under way if the Engines have been closed. From then on the worker has its device to
// sleep in, and no input and output.
func (e *Engine) refuseIfClosed() {
	if e.stopping.Load() {
		e.engine.refuse()
	}
}

// briefWait is how long a wait may take for the next one to keep the P. To give the P up costs more, since package
// runtime's monitor then has to be woken; and if other goroutines need this P, that monitor takes it.
const briefWait = clock.Instant(500 * time.Microsecond)

// Wake implements sched.Device.
func (e *Engine) Wake() { e.engine.kick() }

// Pending implements sched.Device.
func (e *Engine) Pending() int { return int(e.engine.submitted.Load() + e.engine.running.Load()) }

// Close implements sched.Device.
func (e *Engine) Close() error {
	e.set.remove(e)
	e.worker.SetEngine(nil)
	err := e.engine.drain()
	e.engine.deinit()
	e.slots.close()
	return err
}

// must ends the program if the kernel refuses the ring itself: no request would ever complete again.
func (e *Engine) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("sched/uring: the ring of %v: %v", e.worker, err))
	}
}

// mine tells whether the caller runs on the engine's thread, as a fiber of its worker.
func (e *Engine) mine() bool {
	f := sched.Current()
	return f != nil && e.worker != nil && f.Worker() == e.worker
}

// submit hands a request to the engine. It may be called from anywhere, and returns ErrClosed, and does nothing, if the
// engine has ended or refuses requests.
func (e *Engine) submit(r *request) error {
	if e.mine() {
		if e.engine.refuses {
			return ErrClosed
		}
		e.engine.begin(r)
		return nil
	}
	if !e.engine.beginElsewhere(r) {
		return ErrClosed
	}
	return nil
}
