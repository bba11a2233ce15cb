package fibersync

import (
	"fmt"
	"time"
)

// The two sides of an exchange. Who comes first waits with an offer (offer.go), who comes
// second does the exchange.
//
// The usual ways are written out on both sides: through a buffer that is neither full nor
// empty, and the wait that has no end of its own. On the goroutine backend the processor
// predicts each return after a switch wrongly, so that a function less on the way back shows.

// send sends v, or returns why it has not been sent: the error of u, if that is not nil, or
// one that wraps ErrClosedChannel.
func (c *Channel[T]) send(v T, u *until) (err error) {
	if c == nil {
		noChannel("send")
	}
	c.guard.Lock()
	if c.receivers.empty() && c.count < len(c.buffer) && !c.closed {
		c.put(v)
		c.guard.Unlock()
		return nil
	}
	receiver, sent, err := c.give(v)
	if sent || err != nil {
		c.guard.Unlock()
		if receiver != nil {
			receiver.grant()
		}
		return err
	}
	o := c.newOffer()
	o.awaits((*awaitedChannel[T])(c))
	o.value = v
	if u == nil {
		c.senders.push(&o.waiter)
		c.guard.Unlock()
		for first := o.lent; first || !o.isGranted(); first = false {
			o.party.Park(time.Time{})
		}
	} else {
		err = c.senders.waitAs(&o.waiter, &c.guard, *u)
	}
	if err == nil && !o.ok {
		err = errSendOnClosed()
	}
	c.free(o)
	return err
}

// receive receives a value, or returns why not: the error of u, if that is not nil. ok is
// false if the channel is closed and empty.
func (c *Channel[T]) receive(u *until) (v T, ok bool, err error) {
	if c == nil {
		noChannel("receive")
	}
	c.guard.Lock()
	if c.senders.empty() && c.count > 0 {
		v = c.get()
		c.guard.Unlock()
		return v, true, nil
	}
	v, ok, ready, sender := c.take()
	if ready {
		c.guard.Unlock()
		if sender != nil {
			sender.grant()
		}
		return v, ok, nil
	}
	o := c.newOffer()
	o.awaits((*awaitedChannel[T])(c))
	if u == nil {
		c.receivers.push(&o.waiter)
		c.guard.Unlock()
		for first := o.lent; first || !o.isGranted(); first = false {
			o.party.Park(time.Time{})
		}
	} else {
		err = c.receivers.waitAs(&o.waiter, &c.guard, *u)
	}
	if err == nil {
		v, ok = o.value, o.ok
	}
	c.free(o)
	return v, ok, err
}

// noChannel panics: op is a method of a nil *Channel.
func noChannel(op string) { panic(fmt.Errorf("fibersync: %s: %w", op, ErrNilChannel)) }

func errSendOnClosed() error { return fmt.Errorf("fibersync: send: %w", ErrClosedChannel) }
