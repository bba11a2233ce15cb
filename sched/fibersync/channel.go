package fibersync

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"fiberlab/internal/fault"
	"fiberlab/internal/spinlock"
)

// What can be wrong with the use of a channel.
var (
	ErrClosed     = errors.New("the channel is closed: let one of its users close it, once all values are sent")
	ErrNoMore     = fault.Of(ErrClosed, "the channel is closed and empty: receive no more")
	ErrNilChannel = errors.New("the channel is nil: make one with NewChannel")
)

// Channel passes values from senders to receivers, as Go's chan does: in the order in which
// they were sent, each to one receiver. The waiters of either side are served in the order of
// their arrival.
//
// A channel with a capacity buffers so many values that have not been received. Without one,
// sender and receiver wait for each other, and the value goes from one to the other directly.
// The zero value is such a channel.
//
// A method of a nil *Channel panics with an error that wraps ErrNilChannel, since the caller
// could never be woken. But a nil *Channel may have a case in a [Select], which is never
// chosen. A Channel must not be copied.
type Channel[T any] struct {
	mu     spinlock.Lock
	closed bool

	buffer []T // circular; its length is the capacity
	head   int // the index of the oldest value
	count  int // how many values are buffered

	// The queues hold offers. A sender waits only while the buffer is full, a receiver while it is empty.
	senders, receivers waitQueue

	offers *sync.Pool    // of *offer[T]; nil until the first wait
	rank   atomic.Uint64 // in the order of locking; 0: none yet, see lockRank
}

// NewChannel returns a channel that buffers up to capacity values. It panics with an error that
// wraps ErrNegative if capacity is less than 0.
func NewChannel[T any](capacity int) *Channel[T] {
	if capacity < 0 {
		panic(fmt.Errorf("fibersync: channel of capacity %d: %w", capacity, ErrNegative))
	}
	return &Channel[T]{buffer: make([]T, capacity)}
}

// Send sends v. It blocks the caller until a receiver has it or the buffer has room for it. It
// panics with an error that wraps ErrClosed if the channel is closed, before the call or while
// Send waits; v has not been sent then.
func (c *Channel[T]) Send(v T) {
	if err := c.send(v, nil); err != nil {
		panic(err)
	}
}

// SendContext is Send that gives up when ctx is done, and returns context.Cause(ctx) then: v
// has not been sent. A value that is received at the last moment has been sent, and the error
// is nil. If the channel is closed, the error wraps ErrClosed.
func (c *Channel[T]) SendContext(ctx context.Context, v T) error {
	u := within(ctx)
	return c.send(v, &u)
}

// TrySend sends v if that is possible at once, and reports whether it did. It does not
// block. It panics as Send does.
func (c *Channel[T]) TrySend(v T) bool {
	if c == nil {
		noChannel("send")
	}
	c.mu.Lock()
	receiver, sent, err := c.give(v)
	c.mu.Unlock()
	if err != nil {
		panic(err)
	}
	if receiver != nil {
		receiver.handOff()
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

// ReceiveContext is Receive that gives up when ctx is done, and returns context.Cause(ctx)
// then: no value is lost. A value that arrives at the last moment has been received, and the
// error is nil. If the channel is closed and empty, the error wraps ErrNoMore, which wraps ErrClosed.
func (c *Channel[T]) ReceiveContext(ctx context.Context) (v T, err error) {
	u := within(ctx)
	v, ok, err := c.receive(&u)
	if err == nil && !ok {
		err = fmt.Errorf("fibersync: receive: %w", ErrNoMore)
	}
	return v, err
}

// TryReceive is Receive if that is possible at once; ready reports whether it was. It
// does not block.
func (c *Channel[T]) TryReceive() (v T, ok, ready bool) {
	if c == nil {
		noChannel("receive")
	}
	c.mu.Lock()
	v, ok, ready, sender := c.take()
	c.mu.Unlock()
	if sender != nil {
		sender.handOff()
	}
	return v, ok, ready
}

// All returns the values that are received until the channel is closed and empty, for use with
// range.
func (c *Channel[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for v, ok := c.Receive(); ok && yield(v); v, ok = c.Receive() {
		}
	}
}

// Close closes the channel: nothing can be sent from now on, and what is buffered can still be
// received. All waiters go on: receivers with ok false, senders as if they had come later. It
// does not block. It panics with an error that wraps ErrClosed if the channel is closed
// already.
func (c *Channel[T]) Close() {
	if c == nil {
		noChannel("close")
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		panic(fmt.Errorf("fibersync: close: %w", ErrClosed))
	}
	c.closed = true
	waiters := c.claimAll()
	c.mu.Unlock()
	for w := waiters; w != nil; {
		next := w.next // w may be in another queue once it is handed off
		w.whole.(*offer[T]).handOff()
		w = next
	}
}

// Len returns the number of buffered values. It does not block.
func (c *Channel[T]) Len() int {
	if c == nil {
		noChannel("len")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// Cap returns how many values the buffer has room for.
func (c *Channel[T]) Cap() int {
	if c == nil {
		noChannel("cap")
	}
	return len(c.buffer)
}
