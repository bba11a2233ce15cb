package uring

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/park"
)

// notedWaits is a proxy that notes of each wait whether it has kept the thread's P.
type notedWaits struct {
	proxy
	kept []bool
}

func (w *notedWaits) turn(limit time.Duration) ([]Completion, error) {
	if limit != 0 {
		w.kept = append(w.kept, true)
	}
	return w.proxy.turn(limit)
}

func (w *notedWaits) idle(limit time.Duration) ([]Completion, error) {
	w.kept = append(w.kept, false)
	return w.proxy.idle(limit)
}

// notGoroutine is a waiter that does not need the P of the engine's thread, as a fiber.
type notGoroutine struct{ park.Parker }

func (notGoroutine) Unpark() {}

// A goroutine that an engine has woken gets the P of the engine's thread: the next wait does not keep it. A wait while
// nothing is under way does not keep it either.
func TestWaitLendsItsP(t *testing.T) {
	eachEngine(t, 0, func(t *testing.T, e *Engine) {
		waits := &notedWaits{proxy: e.ring}
		e.ring = waits
		in, _ := pair(t)
		e.begin(&Request{
			Entry:     Entry{Op: OpReceive, FD: in, Addr: pinned(t, make([]byte, 1)), Length: 1},
			Completed: func(Completion) {},
		})

		done := make(chan error)
		go func() {
			_, err := e.Do(Entry{Op: OpNop}, nil)
			done <- err
		}()
		for !e.lends.Load() {
			e.Wait(time.Millisecond, true)
		}
		waits.kept = nil
		for range 2 {
			e.Wait(time.Millisecond, true)
		}
		require.Equal(t, []bool{false, true}, waits.kept)
		require.NoError(t, <-done)

		e.unpark(notGoroutine{})
		e.Wait(time.Millisecond, true)
		require.Equal(t, []bool{false, true, true}, waits.kept)

		require.NoError(t, e.drain())
		waits.kept = nil
		e.Wait(time.Millisecond, true)
		require.Equal(t, []bool{false}, waits.kept, "nothing is under way")
	})
}

// An engine refuses a request that a thread has just counted, as the engine closes its mailbox. It is Idle then, even
// if it has moved the count already, and it looks again if it had found the request counted.
func TestRefusedRequestIsNotUnderWay(t *testing.T) {
	eachEngine(t, 0, func(t *testing.T, e *Engine) {
		var came []Completion
		r := &Request{Entry: Entry{Op: OpNop}, Completed: func(c Completion) { came = append(came, c) }}
		r.message.Value = r
		e.submitted.Add(1) // as beginElsewhere does, before it puts the message
		require.False(t, e.Idle())
		e.countRunning()
		require.True(t, e.mail.Put(&r.message, false))
		e.refuse()
		require.Equal(t, []Completion{{Result: -int32(syscall.ECANCELED)}}, came)
		require.True(t, e.Idle())
		require.True(t, e.kicked.Load(), "its worker looks whether anything is left")

		e.kicked.Store(false)
		refused := make(chan error)
		go func() { refused <- e.Submit(&Request{Entry: Entry{Op: OpNop}, Completed: func(Completion) {}}) }()
		require.Equal(t, ErrClosed, <-refused)
		require.True(t, e.Idle())
		require.True(t, e.kicked.Load())
	})
}
