package uring

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/queue"
	"fiberlab/sched"
	"fiberlab/sched/park"
)

// Engine does input and output on one thread: a worker's, or another. The requests that a fiber of the worker
// makes of it complete on that worker. All others leave their requests in its mailbox; all else is for its thread.
//
// This file has the life of an engine in order. init makes it. Submit takes requests. Wait and pollSubmit wait for
// completions, and complete hands them to their makers. refuse cancels what is under way, and Close ends the engine.
type Engine struct {
	set    *Engines
	worker *sched.Worker // nil: its thread is no worker's

	ring  proxy
	able  [abilities]bool // what ring can: any thread may ask
	table table

	brief bool        // its last wait was
	lends atomic.Bool // a goroutine has been woken: its next wait gives the P away at once, see unpark
	slice slice

	stopping atomic.Bool   // the Engines are closed: it refuses requests, and its own thread is to end
	ended    chan struct{} // it has

	submitted atomic.Int64 // requests that have been handed to the engine, and not to the kernel
	running   atomic.Int64 // requests that the kernel carries out

	unstaged []*Request              // there was no room for them in the last batch; the oldest first
	mail     queue.Mailbox[*Request] // from other threads; closed when the engine takes none

	dropped []Completion // of requests that are over without the proxy

	refuses   bool // refuse has been called
	cancelled int  // up to this slot of the table it has cancelled what was under way

	kicked atomic.Bool  // the engine has to look at what others have changed before it waits
	asleep atomic.Bool  // the engine waits, or is about to: others wake it
	waking atomic.Int32 // threads that are about to wake it

	receiving atomic.Pointer[Buffers] // for requests with Provided; nil: none

	counts published
}

var _ sched.Device = (*Engine)(nil)

// init makes the calling thread the engine's. It returns an error of openProxy.
func (e *Engine) init(options Options) (err error) {
	e.ring, err = openProxy(options.Driver, options.requests())
	if err != nil {
		return err
	}
	e.ring = withFaults(e.ring)
	for a := range e.able {
		e.able[a] = e.ring.can(Ability(a))
	}
	if options.Buffers >= 0 && e.Can(ReceiveMany) {
		// else connections receive by one request after another
		if b, err := e.ring.provide(options.buffers(), BufferSize); err == nil {
			e.receiving.Store(b)
		}
	}
	e.refuses, e.cancelled = false, 0
	e.mail.Open()
	return nil
}

// Can reports what the engine's proxy can. Any thread may call it once the engine has begun.
func (e *Engine) Can(a Ability) bool { return e.able[a] }

// Submit: a request gets a number and a place in the next batch, or comes into the mailbox.

// Submit hands a request to the engine. It may be called from anywhere, and returns ErrClosed, and does nothing, if the
// engine has ended or refuses requests.
func (e *Engine) Submit(r *Request) error {
	if e.Mine() {
		if e.refuses {
			return ErrClosed
		}
		e.begin(r)
		return nil
	}
	if !e.beginElsewhere(r) {
		return ErrClosed
	}
	return nil
}

// Mine reports whether the caller runs on the engine's thread, as a fiber of its worker.
func (e *Engine) Mine() bool {
	f := sched.Current()
	return f != nil && e.worker != nil && f.Worker() == e.worker
}

// begin submits a request with the next batch. For the engine's thread: it runs nothing, so a completion may begin the
// next request.
func (e *Engine) begin(r *Request) {
	if r.Cancels != nil {
		e.openMail() // what it is to end may be there
	}
	e.submitted.Add(r.counted())
	e.stage(r)
}

// beginElsewhere is begin for any other thread. It returns false, and does nothing, if the engine has ended.
func (e *Engine) beginElsewhere(r *Request) bool {
	e.submitted.Add(r.counted())
	r.message.Value = r
	if !e.mail.Put(&r.message, false) {
		e.submitted.Add(-r.counted())
		return false
	}
	e.wakeup()
	return true
}

// stage gives r its number and its place in the next batch, or in the one after that.
func (e *Engine) stage(r *Request) {
	e.table.add(r)
	if r.Cancels != nil && !e.aim(r) {
		return
	}
	if len(e.unstaged) > 0 || !e.ring.stage(r.Entry) {
		e.unstaged = append(e.unstaged, r)
	}
}

// aim has r cancel the request that it is for, which the proxy sees first. If that is over, so is r, and aim returns
// false.
func (e *Engine) aim(r *Request) bool {
	of := r.Cancels
	if e.table.find(of.id) != of {
		e.dropped = append(e.dropped, Completion{id: r.id, Result: -int32(syscall.ENOENT)})
		return false
	}
	r.Offset = of.id
	return true
}

// Wait: a turn of the ring hands the batch to the kernel, and waits for what completes.

// asEngine is the engine of a device that has one inside.
func (e *Engine) asEngine() *Engine { return e }

// Ready implements sched.Device.
func (e *Engine) Ready() bool {
	return e.ring.ready() || e.hasRequests() || e.stopping.Load() && !e.refuses
}

// Poll implements sched.Device.
func (e *Engine) Poll() {
	e.refuseIfClosed()
	e.must(e.pollSubmit(0, true))
	e.slice.mayEnd(clock.Now())
}

// Wait implements sched.Device.
func (e *Engine) Wait(limit time.Duration, brief bool) {
	e.refuseIfClosed()
	began := e.slice.mayEnd(clock.Now()) // before the wait, when nothing is late by it
	lends := e.lends.Load() && e.lends.Swap(false)
	e.must(e.pollSubmit(limit, (brief || e.brief) && !lends))
	e.kicked.Store(false) // the worker is awake: whatever woke it, it looks for work next
	e.brief = clock.Now()-began < briefWait
}

// briefWait is how long a wait may take for the next one to keep the P. To give the P up costs more, since package
// runtime's monitor then has to be woken; and if other goroutines need this P, that monitor takes it.
const briefWait = clock.Instant(500 * time.Microsecond)

// unpark lets a waiter for the engine go on. A goroutine then lies in the run queue of the P of this thread, which runs
// the worker alone. A wait that kept the P would keep the goroutine there, until another thread has stolen it or
// package runtime's monitor takes the P away.
func (e *Engine) unpark(waiter park.Parker) {
	if _, is := waiter.(*park.Goroutine); is {
		e.lends.Store(true)
	}
	waiter.Unpark()
}

// pollSubmit submits the requests that have been begun, and serves the completions that have come. If there are
// none, it waits until there are some, for wakeup, or until limit has passed: 0 does not wait, below 0 is no
// limit. brief says that it is expected to be soon.
//
// Prevents lost wake-ups: the engine first says that it is asleep, and then looks once more; others first leave their
// task or request, and then look whether it is asleep. A Swap keeps that order even in an emulator, qemu, which lets a
// load pass a Store; on amd64 they are the same.
func (e *Engine) pollSubmit(limit time.Duration, brief bool) error {
	e.openMail()
	if b := e.receiving.Load(); b != nil {
		b.collect()
	}
	e.countRunning()
	done, err := e.turn(limit, brief)
	if err != nil {
		return err
	}
	e.counts.publish(e.ring.counts())
	for len(e.unstaged) > 0 && e.ring.stage(e.unstaged[0].Entry) {
		e.unstaged = e.unstaged[1:]
	}
	e.worker.RecordCompletions(len(done))
	for _, c := range done {
		e.complete(c)
	}
	for len(e.dropped) > 0 {
		c := e.dropped[0]
		e.dropped = e.dropped[1:]
		e.complete(c)
	}
	return nil
}

// openMail stages what others have sent, the oldest first.
func (e *Engine) openMail() {
	for m := e.mail.Take(); m != nil; {
		r := m.Value
		m = m.Next()
		e.stage(r)
	}
}

// countRunning counts what has been submitted so far as running. Others submit, too: what they add must neither be
// lost nor seem to be over.
func (e *Engine) countRunning() {
	if n := e.submitted.Load(); n > 0 {
		e.running.Add(n)
		e.submitted.Add(-n)
	}
}

// turn is a turn of the ring, which waits only if there is nothing else to do.
func (e *Engine) turn(limit time.Duration, brief bool) ([]Completion, error) {
	if limit == 0 {
		return e.ring.turn(0)
	}
	e.asleep.Swap(true)
	defer e.asleep.Store(false)
	switch {
	case e.hasRequests() || e.kicked.Load():
		return e.ring.turn(0)
	case brief:
		return e.ring.turn(limit)
	}
	return e.ring.idle(limit)
}

// hasRequests reports whether there are requests that have not been staged.
func (e *Engine) hasRequests() bool {
	return len(e.unstaged) > 0 || len(e.dropped) > 0 || !e.mail.Empty()
}

// Wake implements sched.Device.
func (e *Engine) Wake() { e.Kick() }

// Kick is wakeup of an engine that has to look once more at what the caller has changed.
func (e *Engine) Kick() {
	e.kicked.Swap(true) // before the look at asleep, see pollSubmit
	e.wakeup()
}

// wakeup ends the wait of pollSubmit, or the next one, if the engine does not look before. Any thread may call it; it
// does not block.
func (e *Engine) wakeup() {
	if !e.asleep.Load() {
		return
	}
	e.waking.Add(1) // from now on the ring stays open, if the engine is found asleep
	if e.asleep.Swap(false) {
		e.ring.wake()
	}
	e.waking.Add(-1)
}

// slice is how long the engine's thread has run without a decision of the Go scheduler. To package runtime a worker is
// one goroutine that runs forever. From 10 ms on its monitor wants to preempt that. It takes the P away at each system
// call that it meets, and looks every 20 us instead of every 10 ms. So a busy engine would spend a sixth of its time on
// getting Ps back. A decision of the scheduler now and then, which takes some 20 us, begins a new slice. See retake and
// sysmon in runtime/proc.go.
type slice struct{ began clock.Instant }

const longestSlice = clock.Instant(8 * time.Millisecond)

// mayEnd begins a new slice if the present one has been long, and returns when it is. Other goroutines may run first;
// the caller must hold nothing that they may need.
func (s *slice) mayEnd(now clock.Instant) clock.Instant {
	if now-s.began <= longestSlice {
		return now
	}
	runtime.Gosched()
	s.began = clock.Now()
	return s.began
}

// Complete: a completion finds its request by its number.

// complete hands the maker of a request what became of it.
func (e *Engine) complete(c Completion) {
	r := e.table.find(c.id)
	if r == nil {
		return
	}
	if !c.More() {
		e.table.remove(r)
		e.running.Add(-r.counted())
	}
	r.Completed(c)
}

// Idle reports whether no request is under way, internal ones apart.
func (e *Engine) Idle() bool { return e.submitted.Load() == 0 && e.running.Load() == 0 }

// Pending implements sched.Device.
func (e *Engine) Pending() int { return int(e.submitted.Load() + e.running.Load()) }

// Cancel: an engine that is to end takes no requests, and has those end that are under way.

// refuseIfClosed ends what is under way if the Engines have been closed. From then on the worker has its device to
// sleep in, and no input and output.
func (e *Engine) refuseIfClosed() {
	if e.stopping.Load() {
		e.refuse()
	}
}

// refuse refuses the requests of other threads from now on, and has those end that are under way, as many as there is
// room for. Call it before each turn, until none is under way.
func (e *Engine) refuse() {
	if !e.refuses {
		e.refuses = true
		e.closeMail()
		for _, r := range e.unstaged { // the proxy has never seen them
			e.dropped = append(e.dropped, Completion{id: r.id, Result: -int32(syscall.ECANCELED)})
		}
		e.unstaged = nil
	}
	e.cancelled = e.cancelFrom(e.cancelled)
}

// cancelFrom cancels the requests from that slot of the table on, as many as there is room for, and returns where it
// goes on.
func (e *Engine) cancelFrom(next int) int {
	t := &e.table
	if t.begun {
		next, t.begun = 0, false
	}
	for ; next < len(t.slots) && len(e.unstaged) == 0; next++ {
		if r := t.slots[next].request; r != nil && !r.Ending {
			r.Ending = true
			e.begin(&Request{
				Entry: Entry{Op: OpCancel, Offset: r.id}, Internal: true, Ending: true,
				Completed: func(Completion) {},
			})
		}
	}
	return next
}

// Refuses reports whether the engine takes no requests, and so cancels those that are under way. Any thread may call
// it.
func (e *Engine) Refuses() bool { return e.mail.Closed() }

// Close: the ring ends when no request is under way.

// Close implements sched.Device.
func (e *Engine) Close() error {
	e.set.remove(e)
	err := e.drain()
	e.deinit()
	return err
}

// drain ends all requests that are under way, and what their completions begin, and returns when each has
// completed. Requests of other threads are refused from now on.
func (e *Engine) drain() error {
	for e.refuse(); e.table.underWay() > 0; e.refuse() {
		e.kicked.Store(false)
		if err := e.pollSubmit(-1, true); err != nil {
			return err
		}
	}
	return nil
}

// closeMail refuses the requests of other threads from now on. Requests that are in the mailbox are over.
func (e *Engine) closeMail() {
	for m := e.mail.TakeLast(); m != nil; {
		late := m.Value
		m = m.Next()
		e.submitted.Add(-late.counted())
		late.Completed(Completion{Result: -int32(syscall.ECANCELED)})
	}
}

// deinit ends the engine's ring. No request may be under way, but tasks may be queued: they wait for the next init.
// Requests that come from now on are refused, and requests that are in the mailbox are over.
func (e *Engine) deinit() {
	e.closeMail()
	for e.waking.Load() != 0 { // it holds the ring's event for a moment
		runtime.Gosched()
	}
	e.receiving.Store(nil)
	e.ring.close()
	e.ring = nil
}

// must ends the program if the kernel refuses the ring itself: no request would ever complete again.
func (e *Engine) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("sched/uring: the ring of %v: %v", e.worker, err))
	}
}
