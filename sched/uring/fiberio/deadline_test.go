package fiberio

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A deadline that is put off before it has passed has never passed, also for a caller that is just looking at it.
func TestDeadlineThatIsPutOff(t *testing.T) {
	rounds := 100_000
	if testing.Short() {
		rounds = 10_000
	}
	var d deadline
	var begun, putOff, looked atomic.Int64 // rounds
	var passed atomic.Bool
	go func() {
		for n := int64(1); n <= int64(rounds); n++ {
			for begun.Load() < n {
				runtime.Gosched()
			}
			for last := false; !last; {
				last = putOff.Load() == n
				if _, err := d.ended(); err != nil {
					passed.Store(true)
				}
			}
			looked.Store(n)
		}
	}()
	for n := int64(1); n <= int64(rounds); n++ {
		end := time.Now().Add(time.Duration(rand.IntN(3000)))
		d.set(end)
		passed.Store(false)
		begun.Store(n)
		for wait := rand.IntN(100); wait > 0; wait-- {
			_ = putOff.Load()
		}
		d.set(end.Add(time.Hour))
		inTime := time.Now().Before(end)
		putOff.Store(n)
		for looked.Load() < n {
			runtime.Gosched()
		}
		if inTime {
			require.False(t, passed.Load(), "round %d", n)
		}
	}
}
