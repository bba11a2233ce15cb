package uring

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// engine runs tasks and requests on one thread. Tasks and requests may come from any thread; all else is for its own.
type engine struct {
	ring  proxy
	able  [abilities]bool // what ring can: any thread may ask
	tasks *taskQueue      // of a context; others have none
	table table

	submitted atomic.Int64 // requests that have been handed to the engine, and not to the kernel
	running   atomic.Int64 // requests that the kernel carries out

	unstaged []*request              // there was no room for them in the last batch; the oldest first
	mail     atomic.Pointer[request] // from other threads, the latest first; noMore when the engine takes none

	dropped []completion // of requests that are over without the proxy

	refuses   bool // refuse has been called
	cancelled int  // up to this slot of the table it has cancelled what was under way

	kicked atomic.Bool  // the engine has to look at what others have changed before it waits
	asleep atomic.Bool  // the engine waits, or is about to: others wake it
	waking atomic.Int32 // threads that are about to wake it

	receiving atomic.Pointer[buffers] // for requests with provided; nil: none

	counts published
}

// noMore is the mail of an engine that has ended, or has not begun.
var noMore = new(request)

// init makes the calling thread the engine's. It returns an error of openProxy.
func (e *engine) init(options Options) (err error) {
	e.ring, err = openProxy(options.Driver, options.requests())
	if err != nil {
		return err
	}
	e.ring = withFaults(e.ring)
	for a := range e.able {
		e.able[a] = e.ring.can(ability(a))
	}
	if options.Buffers >= 0 && e.can(receiveMany) {
		// else connections receive by one request after another
		if b, err := e.ring.provide(options.buffers(), bufferSize); err == nil {
			e.receiving.Store(b)
		}
	}
	e.refuses, e.cancelled = false, 0
	e.mail.Store(nil)
	return nil
}

// can tells what the engine's proxy can. Any thread may call it once the engine has begun.
func (e *engine) can(a ability) bool { return e.able[a] }

// drain ends all requests that are under way, and what completions begin meanwhile, and returns when each has
// completed. Requests of other threads are refused from now on.
func (e *engine) drain() error {
	for e.refuse(); e.table.underWay() > 0; e.refuse() {
		e.kicked.Store(false)
		if err := e.pollSubmit(-1, true, never); err != nil {
			return err
		}
	}
	return nil
}

// refuse refuses the requests of other threads from now on, and has those end that are under way, as many as there is
// room for. Call it before each turn, until none is under way.
func (e *engine) refuse() {
	if !e.refuses {
		e.refuses = true
		e.closeMail()
		for _, r := range e.unstaged { // the proxy has never seen them
			e.dropped = append(e.dropped, completion{id: r.id, result: -int32(syscall.ECANCELED)})
		}
		e.unstaged = nil
	}
	e.cancelled = e.cancelFrom(e.cancelled)
}

// cancelFrom cancels the requests from that slot of the table on, as many as there is room for, and returns where it
// goes on.
func (e *engine) cancelFrom(next int) int {
	t := &e.table
	if t.begun {
		next, t.begun = 0, false
	}
	for ; next < len(t.slots) && len(e.unstaged) == 0; next++ {
		if r := t.slots[next].request; r != nil && !r.cancelled {
			r.cancelled = true
			e.begin(
				&request{
					entry: entry{op: opCancel, offset: r.id}, internal: true, cancelled: true,
					completed: func(completion) {},
				},
			)
		}
	}
	return next
}

func never() bool { return false }

// closeMail refuses the requests of other threads from now on. Requests that are in the mailbox are over.
func (e *engine) closeMail() {
	for r := e.mail.Swap(noMore); r != nil && r != noMore; {
		late := r
		r = r.next
		e.submitted.Add(-late.counted())
		late.completed(completion{result: -int32(syscall.ECANCELED)})
	}
}

// deinit ends the engine's ring. No request may be under way, but tasks may be queued: they wait for the next init.
// Requests that come from now on are refused, and requests that are in the mailbox are over.
func (e *engine) deinit() {
	e.closeMail()
	for e.waking.Load() != 0 { // it holds the ring's event for a moment
		runtime.Gosched()
	}
	e.receiving.Store(nil)
	e.ring.close()
	e.ring = nil
}

// ready tells whether there are tasks to begin.
func (e *engine) ready() bool { return e.tasks.ready() }

// hasRequests tells whether there are requests that have not been staged.
func (e *engine) hasRequests() bool {
	return len(e.unstaged) > 0 || len(e.dropped) > 0 || e.hasMail()
}

// takesNone reports whether the engine takes no requests, and so cancels those that are under way. Any thread may call
// it.
func (e *engine) takesNone() bool { return e.mail.Load() == noMore }

// hasMail tells whether there are requests of other threads.
func (e *engine) hasMail() bool {
	r := e.mail.Load()
	return r != nil && r != noMore
}

// emptyIO tells whether no request is under way, internal ones apart.
func (e *engine) emptyIO() bool { return e.submitted.Load() == 0 && e.running.Load() == 0 }

// begin submits a request with the next batch. For the engine's thread: it runs nothing, so a completion may begin the
// next request.
func (e *engine) begin(r *request) {
	if r.cancels != nil {
		e.openMail() // what it is to end may be there
	}
	e.submitted.Add(r.counted())
	e.stage(r)
}

// beginElsewhere is begin for any other thread. It returns false, and does nothing, if the engine has ended.
func (e *engine) beginElsewhere(r *request) bool {
	e.submitted.Add(r.counted())
	for {
		r.next = e.mail.Load()
		if r.next == noMore {
			r.next = nil
			e.submitted.Add(-r.counted())
			return false
		}
		if e.mail.CompareAndSwap(r.next, r) {
			break
		}
	}
	e.wakeup()
	return true
}

// stage gives r its number and its place in the next batch, or in the one after that.
func (e *engine) stage(r *request) {
	e.table.add(r)
	if r.cancels != nil && !e.aim(r) {
		return
	}
	if len(e.unstaged) > 0 || !e.ring.stage(r.entry) {
		e.unstaged = append(e.unstaged, r)
	}
}

// aim has r cancel the request that it is for, which the proxy sees first. If that is over, so is r, and aim returns
// false.
func (e *engine) aim(r *request) bool {
	of := r.cancels
	if e.table.find(of.id) != of {
		e.dropped = append(e.dropped, completion{id: r.id, result: -int32(syscall.ENOENT)})
		return false
	}
	r.offset = of.id
	return true
}

// openMail stages what others have sent, the oldest first.
func (e *engine) openMail() {
	if !e.hasMail() {
		return
	}
	var oldest *request
	for r := e.mail.Swap(nil); r != nil; {
		r, r.next, oldest = r.next, oldest, r
	}
	for oldest != nil {
		r := oldest
		oldest, r.next = r.next, nil
		e.stage(r)
	}
}

// wakeup ends the wait of pollSubmit, or the next one, if the engine does not look before. Any thread may call it; it
// does not block.
func (e *engine) wakeup() {
	if !e.asleep.Load() {
		return
	}
	e.waking.Add(1) // from now on the ring stays open, if the engine is found asleep
	if e.asleep.Swap(false) {
		e.ring.wake()
	}
	e.waking.Add(-1)
}

// kick is wakeup of an engine that has to look once more at what the caller has changed.
func (e *engine) kick() {
	e.kicked.Swap(true) // before the look at asleep, see pollSubmit
	e.wakeup()
}

// pollSubmit submits the requests that have been begun, and serves the completions that have come. If it finds neither
// them nor tasks, it waits until there are some, for wakeup, or until limit has passed: 0 does not wait, below 0 is no
// limit. brief says that it is expected to be soon. stop is asked last before it waits, and keeps it from that.
//
// Prevents lost wake-ups: the engine first says that it is asleep, and then looks once more; others first leave their
// task or request, and then look whether it is asleep. A Swap keeps that order even in an emulator, qemu, which lets a
// load pass a Store; on amd64 they are the same.
func (e *engine) pollSubmit(limit time.Duration, brief bool, stop func() bool) error {
	e.openMail()
	if b := e.receiving.Load(); b != nil {
		b.collect()
	}
	e.countRunning()
	done, err := e.turn(limit, brief, stop)
	if err != nil {
		return err
	}
	e.counts.publish(e.ring.counts())
	for len(e.unstaged) > 0 && e.ring.stage(e.unstaged[0].entry) {
		e.unstaged = e.unstaged[1:]
	}
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

// countRunning counts what has been submitted so far as running. Others submit meanwhile: what they add must neither be
// lost nor seem to be over.
func (e *engine) countRunning() {
	if n := e.submitted.Load(); n > 0 {
		e.running.Add(n)
		e.submitted.Add(-n)
	}
}

// turn is a turn of the ring, which waits only if there is nothing else to do.
func (e *engine) turn(limit time.Duration, brief bool, stop func() bool) ([]completion, error) {
	if limit == 0 {
		return e.ring.turn(0)
	}
	e.asleep.Swap(true)
	defer e.asleep.Store(false)
	switch {
	case e.ready() || e.hasRequests() || e.kicked.Load() || stop():
		return e.ring.turn(0)
	case brief:
		return e.ring.turn(limit)
	}
	return e.ring.idle(limit)
}

// complete tells the maker of a request what became of it.
func (e *engine) complete(c completion) {
	r := e.table.find(c.id)
	if r == nil {
		return
	}
	if !c.more() {
		e.table.remove(r)
		e.running.Add(-r.counted())
	}
	r.completed(c)
}
