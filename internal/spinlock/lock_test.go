package spinlock

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneAtATime(t *testing.T) {
	const parties, turns = 8, 2000
	for _, processors := range []int{1, 2, parties} {
		for _, thread := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d processors, threads %v", processors, thread), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				var lock Lock
				var all sync.WaitGroup
				inside, total := 0, 0
				for i := range parties {
					all.Add(1)
					go func() {
						defer all.Done()
						if thread {
							runtime.LockOSThread()
						}
						for turn := range turns {
							lock.Lock()
							inside++
							if turn%100 == i {
								runtime.Gosched() // a holder that loses its processor
							}
							if inside == 1 {
								total++
							}
							inside--
							lock.Unlock()
						}
					}()
				}
				all.Wait()
				require.Equal(t, parties*turns, total)
			})
		}
	}
}

func TestLockWaitsWhileHeld(t *testing.T) {
	for _, processors := range []int{1, 2} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		var lock Lock
		lock.Lock()
		taken := make(chan struct{})
		go func() {
			lock.Lock()
			close(taken)
		}()
		select {
		case <-taken:
			t.Fatal("two have the lock")
		case <-time.After(20 * time.Millisecond): // long enough for all ways of resting
		}
		lock.Unlock()
		<-taken
	}
}

// One lets others run only while it has the lock, and takes it again at once.
func TestRepeatedLockStarvesNoThread(t *testing.T) {
	const most = 100_000
	for _, thread := range []bool{false, true} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var lock Lock
		var had atomic.Bool
		turns := 0
		over := make(chan struct{})
		lock.Lock()
		go func() {
			if thread {
				runtime.LockOSThread()
			}
			lock.Lock()
			had.Store(true)
			lock.Unlock()
			close(over)
		}()
		for !had.Load() && turns < most {
			turns++
			runtime.Gosched()
			lock.Unlock()
			lock.Lock()
		}
		lock.Unlock()
		<-over
		require.Less(t, turns, most)
	}
}

func TestTryLockTakesOnlyAFreeLock(t *testing.T) {
	var lock Lock
	require.True(t, lock.TryLock())
	require.False(t, lock.TryLock())
	lock.Unlock()
	require.True(t, lock.TryLock())
}

func TestAnybodyMayUnlock(t *testing.T) {
	var lock Lock
	lock.Lock()
	go lock.Unlock()
	lock.Lock()
	require.False(t, lock.TryLock())
}
