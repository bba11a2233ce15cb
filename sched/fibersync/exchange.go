package fibersync

import (
	"fmt"
	"time"
)

// The two sides of an exchange. The side that comes first waits with an offer (offer.go); the
// second does the exchange.
//
// Two usual paths are written out on both sides: through a buffer that is neither full nor
// empty, and the wait without a deadline. On the goroutine backend the processor mispredicts
// each return after a switch, so each function call less on the way back counts;
// docs/primitives.md names the benchmarks.

// send sends v, or returns why it has not been sent: the error of u, if u is not nil, or one
// that wraps ErrClosed.
func (c *Channel[T]) send(v T, u *until) (err error) {
	if c == nil {
		noChannel("send")
	}
	c.mu.Lock()
	if c.receivers.empty() && c.count < len(c.buffer) && !c.closed {
		c.put(v)
		c.mu.Unlock()
		return nil
	}
	receiver, sent, err := c.give(v)
	if sent || err != nil {
		c.mu.Unlock()
		if receiver != nil {
			receiver.handOff()
		}
		return err
	}
	o := c.newOffer()
	o.what = (*awaitedChannel[T])(c)
	o.value = v
	if u == nil {
		c.senders.push(&o.waiter)
		c.mu.Unlock()
		for first := o.lent; first || !o.isHandedOff(); first = false {
			o.announce()
			o.parker.Park(time.Time{})
		}
	} else {
		err = c.senders.waitAs(&o.waiter, &c.mu, *u)
	}
	if err == nil && !o.ok {
		err = errSendOnClosed()
	}
	c.free(o)
	return err
}

// receive receives a value, or returns why not: the error of u, if u is not nil. ok is false if
// the channel is closed and empty.
func (c *Channel[T]) receive(u *until) (v T, ok bool, err error) {
	if c == nil {
		noChannel("receive")
	}
	c.mu.Lock()
	if c.senders.empty() && c.count > 0 {
		v = c.get()
		c.mu.Unlock()
		return v, true, nil
	}
	v, ok, ready, sender := c.take()
	if ready {
		c.mu.Unlock()
		if sender != nil {
			sender.handOff()
		}
		return v, ok, nil
	}
	o := c.newOffer()
	o.what = (*awaitedChannel[T])(c)
	if u == nil {
		c.receivers.push(&o.waiter)
		c.mu.Unlock()
		for first := o.lent; first || !o.isHandedOff(); first = false {
			o.announce()
			o.parker.Park(time.Time{})
		}
	} else {
		err = c.receivers.waitAs(&o.waiter, &c.mu, *u)
	}
	if err == nil {
		v, ok = o.value, o.ok
	}
	c.free(o)
	return v, ok, err
}

// noChannel panics: op is called on a nil *Channel.
func noChannel(op string) { panic(fmt.Errorf("fibersync: %s: %w", op, ErrNilChannel)) }

func errSendOnClosed() error { return fmt.Errorf("fibersync: send: %w", ErrClosed) }
