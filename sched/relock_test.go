package sched

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// notifyWithTheLock has a fiber wait, notifies it with its lock held, and keeps the lock. Each time the woken worker
// yields, it calls yielded with the lock and the number of yields. It returns that number.
func notifyWithTheLock(t *testing.T, yielded func(mu *sync.Mutex, times int)) (times int) {
	var mu sync.Mutex
	yield := yieldThread
	defer func() { yieldThread = yield }()
	yieldThread = func() {
		times++
		yielded(&mu, times)
	}
	s, err := New(Config{Workers: 1})
	require.NoError(t, err)
	open, waiting, over := false, make(chan *Fiber, 1), make(chan struct{})
	require.NoError(t, s.Go(func() {
		mu.Lock()
		waiting <- Current()
		Current().Wait(&mu, func() bool { return open })
		mu.Unlock()
		close(over)
	}))
	f := <-waiting
	mu.Lock() // the fiber has released it, and so is blocked
	open = true
	f.Notify()
	select {
	case <-over:
	case <-time.After(time.Minute):
		mu.Unlock()
		t.Error("the worker has blocked on the lock at once")
	}
	require.NoError(t, s.Close())
	return times
}

// A fiber whose notifier still holds the lock has its thread yield, and goes on as soon as the lock is free.
func TestAWokenFiberYieldsToTheHolderOfItsLock(t *testing.T) {
	times := notifyWithTheLock(t, func(mu *sync.Mutex, times int) {
		if times == 3 {
			mu.Unlock()
		}
	})
	require.Equal(t, 3, times)
}

// It does not go on yielding: it blocks if the lock is not released soon.
func TestAWokenFiberBlocksInTheEnd(t *testing.T) {
	times := notifyWithTheLock(t, func(mu *sync.Mutex, times int) {
		if times == mostYields {
			time.AfterFunc(time.Millisecond, mu.Unlock)
		}
	})
	require.Equal(t, mostYields, times)
}
