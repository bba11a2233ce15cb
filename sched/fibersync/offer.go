package fibersync

import (
	"reflect"
	"sync"

	"fiberlab/sched/park"
)

// offer is one side of an exchange, which waits for the other side. It is a waiter in a queue
// of a channel, with the value that it sends or with room for the value that it receives. The
// other side does the whole exchange and then hands off; so a value changes hands with one lock
// taken.
//
// The side that has taken an offer out of its queue by claim owns it until the hand-off.
type offer[T any] struct {
	waiter
	value T
	ok    bool // the exchange took place; else the channel was closed

	choice *choice // the Select that has this offer and others; nil: there is only this one
	index  int     // of the case in the choice
}

// offerPools has a *sync.Pool of *offer[T] for each T, by its reflect.Type.
var offerPools sync.Map

func offersOf[T any]() *sync.Pool {
	key := reflect.TypeFor[T]()
	if pool, ok := offerPools.Load(key); ok {
		return pool.(*sync.Pool)
	}
	pool, _ := offerPools.LoadOrStore(key, &sync.Pool{New: func() any {
		o := new(offer[T])
		o.whole = o
		return o
	}})
	return pool.(*sync.Pool)
}

// newOffer returns an offer of the caller, for one wait in a queue of c. The caller holds mu; see mayPark.
func (c *Channel[T]) newOffer() *offer[T] {
	if c.offers == nil {
		c.offers = offersOf[T]()
	}
	p := park.Current()
	mayPark(p, &c.mu)
	o, ok := takeCached[offer[T]](p)
	if !ok {
		o = c.offers.Get().(*offer[T])
	}
	o.beginAs(p)
	return o
}

// free gives o back. It must be in no queue.
func (c *Channel[T]) free(o *offer[T]) {
	var none T
	o.value = none
	if !o.cache(o) {
		c.offers.Put(o)
	}
}

// handOff tells the owner of an offer that has been claimed that the exchange is over. The
// caller must not use o afterwards, and should hold no mu.
func (o *offer[T]) handOff() {
	if c := o.choice; c != nil {
		c.fired = o.index
		c.handOff()
		return
	}
	o.waiter.handOff()
}

// claim takes the first offer out of l whose owner still waits, or returns nil. The caller
// holds mu.
func claim[T any](l *waitQueue) *offer[T] {
	for w := l.pop(); w != nil; w = l.pop() {
		if o := w.whole.(*offer[T]); o.choice == nil || o.choice.claim() {
			return o
		}
	}
	return nil
}

// give sends v if that is possible at once. It returns the receiver to hand off to, or nil. The
// caller holds mu.
func (c *Channel[T]) give(v T) (receiver *offer[T], sent bool, err error) {
	if c.closed {
		return nil, false, errSendOnClosed()
	}
	if !c.receivers.empty() {
		if receiver = claim[T](&c.receivers); receiver != nil {
			receiver.value, receiver.ok = v, true
			return receiver, true, nil
		}
	}
	if c.count < len(c.buffer) {
		c.put(v)
		return nil, true, nil
	}
	return nil, false, nil
}

// take receives a value if that is possible at once. It returns the sender to hand off to, or
// nil. The caller holds mu.
func (c *Channel[T]) take() (v T, ok, ready bool, sender *offer[T]) {
	if !c.senders.empty() {
		sender = claim[T](&c.senders)
	}
	switch {
	case c.count > 0:
		v = c.get()
		if sender != nil {
			c.put(sender.value)
		}
	case sender != nil:
		v = sender.value
	default:
		return v, false, c.closed, nil
	}
	if sender != nil {
		sender.ok = true
	}
	return v, true, true, sender
}

// put adds v to the buffer, which has room. The caller holds mu.
func (c *Channel[T]) put(v T) {
	at := c.head + c.count
	if at >= len(c.buffer) {
		at -= len(c.buffer)
	}
	c.buffer[at] = v
	c.count++
}

// get takes the oldest value from the buffer, which is not empty. The caller holds mu.
func (c *Channel[T]) get() T {
	var none T
	v := c.buffer[c.head]
	c.buffer[c.head] = none
	if c.head++; c.head == len(c.buffer) {
		c.head = 0
	}
	c.count--
	return v
}

// claimAll claims all offers, whose exchange will never take place, and returns the first of
// them, which links to the others by next. The caller holds mu.
func (c *Channel[T]) claimAll() *waiter {
	var claimed waitQueue
	for _, l := range []*waitQueue{&c.receivers, &c.senders} {
		for o := claim[T](l); o != nil; o = claim[T](l) {
			o.ok = false
			claimed.push(&o.waiter)
		}
	}
	return claimed.takeAll()
}
