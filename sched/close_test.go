package sched

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
)

// flag is something to wait for.
type flag struct {
	mu     sync.Mutex
	up     bool
	waiter *Fiber
	held   chan struct{} // closed when the waiter is about to wait
}

func newFlag() *flag { return &flag{held: make(chan struct{})} }

func (f *flag) await() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiter = Current()
	close(f.held)
	f.waiter.Wait(&f.mu, func() bool { return f.up })
}

// raise may be called by a task, which must not keep its worker from the task that shall wait:
// that may be queued behind it.
func (f *flag) raise() {
	for Current() != nil && !f.isHeld() {
		Yield()
	}
	<-f.held
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up = true
	f.waiter.Notify()
}

func (f *flag) isHeld() bool {
	select {
	case <-f.held:
		return true
	default:
		return false
	}
}

// A worker that is stuck, and another whose last task wakes it and ends: whatever Close sees
// first, it is no deadlock.
func TestCloseWaitsForWhomTheLastTaskWoke(t *testing.T) {
	for _, b := range fiber.Backends() {
		for range 30 {
			s, err := New(Config{Workers: 2, Backend: b, GiveUpAfter: 500 * time.Microsecond})
			require.NoError(t, err)
			f := newFlag()
			require.NoError(t, s.Enqueue(Task{Func: f.await}))
			require.NoError(t, s.Enqueue(Task{Func: func() {
				Sleep(2 * time.Millisecond)
				f.raise()
			}}))
			require.NoError(t, s.Close(), "%v", b)
		}
	}
}

// Close is tried again and again while a goroutine wakes the fiber that it reports.
func TestCloseAgainWhileFibersAreWoken(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, b := range fiber.Backends() {
		for range 30 {
			s, err := New(Config{Workers: 2, Backend: b, GiveUpAfter: 50 * time.Microsecond})
			require.NoError(t, err)
			f, g := newFlag(), newFlag()
			require.NoError(t, s.Enqueue(Task{Func: f.await}))
			require.NoError(t, s.Enqueue(Task{Func: g.await}))
			pauses := [2]time.Duration{
				time.Duration(r.IntN(1000)) * time.Microsecond, time.Duration(r.IntN(500)) * time.Microsecond,
			}
			go func() {
				time.Sleep(pauses[0])
				f.raise()
				time.Sleep(pauses[1])
				g.raise()
			}()
			for err = s.Close(); err != nil; err = s.Close() {
				require.ErrorIs(t, err, ErrDeadlock)
			}
			require.ErrorIs(t, s.Close(), ErrClosed)
		}
	}
}

// Unbind succeeds if the last fiber ends just when a deadlock is reported.
func TestUnbindOfAFinishedWorkerReportsNoDeadlock(t *testing.T) {
	s, err := New(Config{GiveUpAfter: -1})
	require.NoError(t, err)
	require.NoError(t, s.Bind())
	Current().maker.stuck.Store(&Deadlock{})
	require.NoError(t, Unbind())
	require.NoError(t, s.Close())
}

// Unbind reports a task that is blocked, although the task has no other fiber to begin it but the goroutine that
// unbinds.
func TestUnbindReportsTheTaskThatItBegan(t *testing.T) {
	for _, b := range fiber.Backends() {
		s, err := New(Config{Backend: b, GiveUpAfter: time.Millisecond})
		require.NoError(t, err)
		f := newFlag()
		func() {
			require.NoError(t, s.Bind())
			defer func() { assert.NoError(t, Unbind()) }()
			assert.NoError(t, s.Enqueue(Task{Func: f.await}))
			for range 2 {
				var deadlock *Deadlock
				if assert.ErrorAs(t, Unbind(), &deadlock) {
					assert.Len(t, deadlock.Fibers, 1)
				}
			}
			f.raise()
		}()
		require.NoError(t, s.Close())
	}
}

// A task that queues another one while Close makes sure that nothing is left waits until the queues are open again.
func TestTaskIsNotRefusedWhileCloseLooks(t *testing.T) {
	s, err := New(Config{Workers: 2})
	require.NoError(t, err)
	require.True(t, s.workers[1].mailbox.Close())
	enqueued := make(chan error, 1)
	require.NoError(t, s.EnqueueOn(0, Task{Func: func() { enqueued <- s.EnqueueOn(1, Task{Func: func() {}}) }}))
	select {
	case err := <-enqueued:
		t.Errorf("refused: %v", err)
		enqueued <- nil
	case <-time.After(10 * time.Millisecond):
	}
	s.workers[1].mailbox.Open()
	require.NoError(t, <-enqueued)
	require.NoError(t, s.Close())
	require.EqualValues(t, 2, s.Stats().Tasks)
}

// enqueuesAtClose is a device that never has anything, and enqueues a task on the other worker when it is closed.
type enqueuesAtClose struct {
	s    **Scheduler
	wake chan struct{}
	err  chan<- error
}

func (enqueuesAtClose) Ready() bool { return false }
func (enqueuesAtClose) Poll()       {}

func (d enqueuesAtClose) Wait(time.Duration, bool) {
	select {
	case <-d.wake:
	case <-time.After(time.Millisecond):
	}
}

func (d enqueuesAtClose) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (enqueuesAtClose) Pending() int { return 0 }

func (d enqueuesAtClose) Close() error {
	d.err <- (*d.s).TryEnqueueOn(1, Task{Func: func() {}})
	return nil
}

// A device that is closed by Close itself is refused: nothing begins any more.
func TestDeviceEnqueuesWhileItIsClosed(t *testing.T) {
	var s *Scheduler
	refused := make(chan error, 2)
	s, err := New(Config{Workers: 2, Device: func(*Worker) (Device, error) {
		return enqueuesAtClose{&s, make(chan struct{}, 1), refused}, nil
	}})
	require.NoError(t, err)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	require.ErrorIs(t, <-refused, ErrClosed)
	require.NoError(t, <-closed)
}

// A goroutine whose Unbind fails because its root holds a fiber is still bound, and still gets messages.
func TestUnbindThatFailsLeavesTheMailboxOpen(t *testing.T) {
	s, err := New(Config{Backend: fiber.Goroutine})
	require.NoError(t, err)
	require.NoError(t, s.Bind())
	root := fiber.Current()
	held, err := fiber.New(fiber.Config{Backend: fiber.Goroutine, Name: "held"}, func() {
		assert.NoError(t, fiber.Current().SwitchTo(root))
	})
	require.NoError(t, err)
	require.NoError(t, root.SwitchTo(held))
	require.ErrorIs(t, Unbind(), fiber.ErrHolds)
	require.False(t, Current().maker.mailbox.Closed())
	require.NoError(t, root.SwitchTo(held))
	require.NoError(t, held.Close())
	require.NoError(t, Unbind())
	require.NoError(t, s.Close())
}
