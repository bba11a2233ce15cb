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

// Engine does input and output on one thread: a worker's, or a separate one. Fibers of that worker submit requests
// directly, all other callers by its mailbox. The rest is for the engine's thread, unless a comment says otherwise.
//
// This file has the life of an engine in order. init makes it. Submit takes requests. Wait and pollSubmit wait for
// completions, and complete hands them to their makers. refuse cancels what is under way, and Close ends the engine.
type Engine struct {
	set    *Engines
	worker *sched.Worker // nil: the thread is a separate one

	ring  proxy
	able  [abilities]bool // what ring can: any thread may ask
	table table

	brief bool        // its last wait was
	lends atomic.Bool // a goroutine has been woken: its next wait gives the P away at once, see unpark
	slice slice

	stopping atomic.Bool   // the Engines are closed: it refuses requests, and its own thread is to end
	ended    chan struct{} // closed when the separate thread has ended

	submitted atomic.Int64 // requests that have been handed to the engine, and not to the kernel
	running   atomic.Int64 // requests that the kernel carries out

	unstaged []*Request              // did not fit into the last batch; the oldest first
	mail     queue.Mailbox[*Request] // from other threads; closed when the engine takes none

	dropped []Completion // of requests that ended before the proxy saw them

	refuses   bool // refuse has been called
	cancelled int  // refuse has cancelled the requests in the slots before this one

	kicked atomic.Bool  // the engine has to look at what others have changed before it waits
	asleep atomic.Bool  // the engine waits, or is about to: others wake it
	waking atomic.Int32 // threads that are about to wake it

	receiving atomic.Pointer[Buffers] // for requests with Provided; nil: none

	counts published
}

var _ sched.Device = (*Engine)(nil)

// init opens the proxy, the buffers and the mailbox. The calling thread becomes the engine's. Errors are openProxy's.
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
		// without buffers, connections receive by one request after another
		if b, err := e.ring.provide(options.buffers(), BufferSize); err == nil {
			e.receiving.Store(b)
		}
	}
	return nil
}

// Can reports whether the engine's proxy has an ability. Any thread may call it once the engine has begun.
func (e *Engine) Can(a Ability) bool { return e.able[a] }

// Submit: a request gets a number and a place in the next batch, or comes into the mailbox.

// Submit hands a request to the engine. It may be called from anywhere, and does not block. If the engine has ended or
// refuses requests, Submit does nothing and returns ErrClosed.
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

// Mine reports whether the caller is a fiber that runs on the engine's thread now. Any thread may call it.
func (e *Engine) Mine() bool {
	f := sched.Current()
	return f != nil && e.worker != nil && f.Worker() == e.worker
}

// begin puts a request into the next batch, or into a later one if that is full. Only the engine's thread may call it.
// It calls no Completed itself, so a Completed may call begin.
func (e *Engine) begin(r *Request) {
	if r.Cancels != nil {
		e.openMail() // what it is to end may be there
	}
	e.submitted.Add(r.counted())
	e.stage(r)
}

// beginElsewhere is begin by the mailbox, for any thread. If the mailbox is closed, it does nothing and returns false.
func (e *Engine) beginElsewhere(r *Request) bool {
	e.submitted.Add(r.counted())
	r.message.Value = r
	if !e.mail.Put(&r.message, false) {
		e.submitted.Add(-r.counted())
		e.Kick() // the worker may have found r counted, and not Idle
		return false
	}
	e.wakeup()
	return true
}

// stage gives r its number, and a place in the next batch with room. For an r that cancels another request, see aim.
func (e *Engine) stage(r *Request) {
	e.table.add(r)
	if r.Cancels != nil && !e.aim(r) {
		return
	}
	if len(e.unstaged) > 0 || !e.ring.stage(r.Entry) {
		e.unstaged = append(e.unstaged, r)
	}
}

// aim puts the number of the request that r cancels into r. The proxy gets that request before r. If that request is
// over, r is over too: aim adds a completion with ENOENT to dropped, and returns false.
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

// asEngine returns e. Here calls it to find the engine inside a device, which may embed the engine.
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
	began := e.slice.mayEnd(clock.Now()) // before the wait: then nothing is delayed by it
	lends := e.lends.Load() && e.lends.Swap(false)
	e.must(e.pollSubmit(limit, (brief || e.brief) && !lends && !e.Idle()))
	e.kicked.Store(false) // the worker is awake: whatever woke it, it looks for work next
	e.brief = clock.Now()-began < briefWait
}

// briefWait is how long a wait may take for the next one to keep the P. To give the P up costs more, since package
// runtime's monitor then has to be woken. If other goroutines need this P, the monitor takes it, but if the monitor
// sleeps, after 10 ms or more. So a wait with nothing under way gives it up: such a goroutine may bring the next work.
const briefWait = clock.Instant(500 * time.Microsecond)

// unpark wakes a waiter for the engine. Any thread may call it. On the engine's thread, a woken goroutine comes into
// the run queue of the thread's P, but this thread runs only the worker. If the next wait kept the P, the goroutine
// would stay there until another thread stole it, or until package runtime's monitor took the P away.
func (e *Engine) unpark(waiter park.Parker) {
	if _, is := waiter.(*park.Goroutine); is {
		e.lends.Store(true)
	}
	waiter.Unpark()
}

// pollSubmit submits the requests that have been begun, and serves completions. If there is nothing else to do, it
// first waits for a completion, for wakeup, or until limit has passed: 0 does not wait, below 0 is no limit. brief says
// that the wait is expected to be short. The error is the kernel's.
//
// No wake-up is lost: the engine first sets asleep, and then looks once more for requests and at kicked. Other threads
// first leave a request or set kicked, and then look at asleep. A Swap keeps that order even in the emulator qemu,
// where a load may pass a Store. On amd64 a Store and a Swap are the same.
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

// countRunning moves the count of submitted requests to running. Other threads may add to submitted at the same time,
// and read both counts: so no request may be missing from both, even for a moment.
func (e *Engine) countRunning() {
	if n := e.submitted.Load(); n > 0 {
		e.running.Add(n)
		e.submitted.Add(-n)
	}
}

// turn makes one turn of the ring. It waits for up to limit, unless hasRequests or Kick gives the engine work.
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

// hasRequests reports whether there are requests that have not been staged, or completions in dropped.
func (e *Engine) hasRequests() bool {
	return len(e.unstaged) > 0 || len(e.dropped) > 0 || !e.mail.Empty()
}

// Wake implements sched.Device.
func (e *Engine) Wake() { e.Kick() }

// Kick sets kicked, so that the engine looks for changes before it waits, and calls wakeup. Any thread may call it.
func (e *Engine) Kick() {
	e.kicked.Swap(true) // before the look at asleep, see pollSubmit
	e.wakeup()
}

// wakeup ends the wait of pollSubmit, if the engine is asleep. Otherwise the engine looks for requests and at kicked
// before it waits: the caller must first leave a request or set kicked. Any thread may call it; it does not block.
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

// slice is the time for which the worker's goroutine has run since the Go scheduler last chose it. After 10 ms package
// runtime's monitor tries to preempt the goroutine. The monitor then looks every 20 us instead of every 10 ms, and
// takes the P away in each system call that it finds. A busy engine would spend a sixth of its time on getting Ps back.
// So mayEnd now and then calls the Go scheduler, which takes some 20 us, and begins a new slice. See retake and sysmon
// in runtime/proc.go.
type slice struct{ began clock.Instant }

const longestSlice = clock.Instant(8 * time.Millisecond)

// mayEnd returns the time. If the present slice is longer than longestSlice, it first lets other goroutines run, and
// begins a new slice. The caller must hold nothing that other goroutines may need.
func (s *slice) mayEnd(now clock.Instant) clock.Instant {
	if now-s.began <= longestSlice {
		return now
	}
	runtime.Gosched()
	s.began = clock.Now()
	return s.began
}

// Complete: a completion finds its request by its number.

// complete hands a completion to its request, and removes a request that is over. It ignores an unknown number.
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

// Idle reports whether no WaitFor waits and no request is under way, except internal ones. Any thread may call it.
func (e *Engine) Idle() bool { return e.Pending() == 0 }

// Pending implements sched.Device. A request that closeMail drops may have been counted as running already: then
// submitted is below 0 from now on, and only the sum of both counts is right.
func (e *Engine) Pending() int { return int(e.submitted.Load() + e.running.Load()) }

// Cancel: an engine that is to end takes no requests, and has those end that are under way.

// refuseIfClosed calls refuse if the Engines have been closed. From then on the engine does no input and output. Its
// worker still sleeps in Wait.
func (e *Engine) refuseIfClosed() {
	if e.stopping.Load() {
		e.refuse()
	}
}

// refuse makes Submit refuse requests from now on, and cancels the requests that are under way, as many as there is
// room for. Call it before each turn, until none is under way.
func (e *Engine) refuse() {
	if !e.refuses {
		e.refuses = true
		e.closeMail()
		for _, r := range e.unstaged { // the proxy has never seen them
			e.dropped = append(e.dropped, Completion{id: r.id, Result: -int32(syscall.ECANCELED)})
		}
		e.unstaged = nil
		e.kicked.Store(true) // perhaps nothing is left now: the worker must look before it waits
	}
	e.cancelled = e.cancelFrom(e.cancelled)
}

// cancelFrom cancels the requests in the table's slots from next on. It skips requests that are ending already, stops
// when the batch is full, and returns the slot to go on with.
func (e *Engine) cancelFrom(next int) int {
	t := &e.table
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

// Refuses reports whether the engine refuses requests. Then it has cancelled those under way, or is about to. Any
// thread may call it.
func (e *Engine) Refuses() bool { return e.mail.Closed() }

// Close: the ring ends when no request is under way.

// Close implements sched.Device.
func (e *Engine) Close() error {
	e.set.remove(e)
	err := e.drain()
	e.deinit()
	return err
}

// drain calls refuse, and blocks the engine's thread until each request that is under way has completed. The error is
// the kernel's: requests may still be under way then.
func (e *Engine) drain() error {
	for e.refuse(); e.table.underWay() > 0; e.refuse() {
		e.kicked.Store(false)
		if err := e.pollSubmit(-1, true); err != nil {
			return err
		}
	}
	return nil
}

// closeMail closes the mailbox, which then refuses requests. Those that are in it complete with ECANCELED.
func (e *Engine) closeMail() {
	for m := e.mail.TakeLast(); m != nil; {
		late := m.Value
		m = m.Next()
		e.submitted.Add(-late.counted())
		late.Completed(Completion{Result: -int32(syscall.ECANCELED)})
	}
}

// deinit closes the mailbox as closeMail does, waits for threads that are in wakeup, which use the ring, and closes the
// ring. No request may be under way.
func (e *Engine) deinit() {
	e.closeMail()
	for e.waking.Load() != 0 { // threads in wakeup still use the ring
		runtime.Gosched()
	}
	e.receiving.Store(nil)
	e.ring.close()
	e.ring = nil
}

// must ends the program if the kernel refuses the ring or the epoll instance itself: no request would complete again.
func (e *Engine) must(err error) {
	if err != nil {
		panic(fmt.Sprintf(
			"sched/uring: the kernel refuses the ring or the epoll instance of %v: no request can end: %v", e.worker, err,
		))
	}
}
