//go:build !race

package spinlock

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A waiter yields to other goroutines once, however long the lock is held: where goroutines are busy, each yield takes
// them 10 ms.
func TestWaiterYieldsOnce(t *testing.T) {
	var yields atomic.Int64
	yield = func() { yields.Add(1); runtime.Gosched() }
	defer func() { yield = runtime.Gosched }()
	var lock Lock
	lock.Lock()
	taken := make(chan struct{})
	go func() {
		lock.Lock()
		close(taken)
	}()
	for yields.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // long enough for more
	lock.Unlock()
	<-taken
	require.EqualValues(t, 1, yields.Load())
}
