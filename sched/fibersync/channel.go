package fibersync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"fiberlab/internal/spinlock"
)

// What can be wrong with the use of a channel.
var (
	ErrClosedChannel = errors.New("the channel is closed: let only one of its users close it, once all values are sent")
	ErrNilChannel    = errors.New("there is no channel: make one with NewChannel")
)

// Channel passes values from those who send to those who receive, as Go's chan does: in
// the order in which they were sent, each to one receiver. Those who wait on either
// side are served in the order of their coming.
//
// A channel with a capacity keeps so many values that nobody has received yet. One
// without has sender and receiver wait for each other, and a value goes from one to the
// other directly. The zero value is such a channel.
//
// A method of a nil *Channel panics with an error that wraps ErrNilChannel, for nobody
// could ever wake the caller. But a nil *Channel may have a case in a [Select], which is
// never chosen. A Channel must not be copied.
type Channel[T any] struct {
	guard  spinlock.Lock
	closed bool

	buffer []T // a ring; its length is the capacity
	head   int // where the oldest value lies
	count  int // how many lie there

	// Of offers. A sender waits only while the buffer is full, a receiver while it is empty.
	senders, receivers line

	offers *sync.Pool    // of *offer[T]; nil until somebody has waited
	rank   atomic.Uint64 // where it stands in the order of locking; 0: nowhere yet
}

// NewChannel makes a channel that keeps up to capacity values. It panics with an
// error that wraps ErrNegative if capacity is less than 0.
func NewChannel[T any](capacity int) *Channel[T] {
	if capacity < 0 {
		panic(fmt.Errorf("fibersync: channel of capacity %d: %w", capacity, ErrNegative))
	}
	return &Channel[T]{buffer: make([]T, capacity)}
}

// Send sends v. It blocks the caller until a receiver has it or the buffer has room for
// it. It panics with an error that wraps ErrClosedChannel if the channel is closed
// or is closed meanwhile; v has not been sent then.
func (c *Channel[T]) Send(v T) {
	if err := c.send(v, nil); err != nil {
		panic(err)
	}
}

// SendContext is Send that gives up when ctx is over, and returns its error then: v has
// not been sent. A value that was received at the last moment has been sent, and
// the error is nil. If the channel is closed the error wraps ErrClosedChannel.
func (c *Channel[T]) SendContext(ctx context.Context, v T) error {
	u := within(ctx)
	return c.send(v, &u)
}

// TrySend sends v if that is possible at once, and tells whether it did. It does not
// block. It panics as Send does.
func (c *Channel[T]) TrySend(v T) bool {
	if c == nil {
		noChannel("send")
	}
	c.guard.Lock()
	receiver, sent, err := c.give(v)
	c.guard.Unlock()
	if err != nil {
		panic(err)
	}
	if receiver != nil {
		receiver.grant()
	}
	return sent
}

// Receive receives a value. It blocks the caller until there is one or the channel is
// closed. ok is false, and v the zero value, if the channel is closed and all that
// was sent has been received.
func (c *Channel[T]) Receive() (v T, ok bool) {
	v, ok, _ = c.receive(nil)
	return v, ok
}

// ReceiveContext is Receive that gives up when ctx is over, and returns its error then:
// no value is lost. A value that arrives at the last moment has been received, and
// the error is nil. If the channel is closed and empty the error wraps ErrClosedChannel.
func (c *Channel[T]) ReceiveContext(ctx context.Context) (v T, err error) {
	u := within(ctx)
	v, ok, err := c.receive(&u)
	if err == nil && !ok {
		err = fmt.Errorf("fibersync: receive: %w", ErrClosedChannel)
	}
	return v, err
}

// TryReceive is Receive if that is possible at once; ready tells whether it was. It
// does not block.
func (c *Channel[T]) TryReceive() (v T, ok, ready bool) {
	if c == nil {
		noChannel("receive")
	}
	c.guard.Lock()
	v, ok, ready, sender := c.take()
	c.guard.Unlock()
	if sender != nil {
		sender.grant()
	}
	return v, ok, ready
}

// All is all values that are received until the channel is closed and empty, for use
// with range.
func (c *Channel[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, ok := c.Receive(); ok && yield(v); v, ok = c.Receive() {
		}
	}
}

// Close closes the channel: nothing can be sent from now on, what the buffer holds can
// still be received. All who wait go on: receivers with ok false, senders as if they
// had come later. It does not block. It panics with an error that wraps
// ErrClosedChannel if the channel is closed.
func (c *Channel[T]) Close() {
	if c == nil {
		noChannel("close")
	}
	c.guard.Lock()
	if c.closed {
		c.guard.Unlock()
		panic(fmt.Errorf("fibersync: close: %w", ErrClosedChannel))
	}
	c.closed = true
	waiters := c.dismiss()
	c.guard.Unlock()
	for w := waiters; w != nil; {
		next := w.next // w may be in another line once it is granted
		w.whole.(*offer[T]).grant()
		w = next
	}
}

// Len returns how many values the buffer holds. It does not block.
func (c *Channel[T]) Len() int {
	if c == nil {
		noChannel("len")
	}
	c.guard.Lock()
	defer c.guard.Unlock()
	return c.count
}

// Cap returns how many values the buffer has room for.
func (c *Channel[T]) Cap() int {
	if c == nil {
		noChannel("cap")
	}
	return len(c.buffer)
}
