package sched

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// slumberOn sleeps on the bell unless it has been rung.
func slumberOn(b *bell, limit time.Duration, brief bool) {
	if b.lieDown() {
		b.sleep(limit, brief)
	}
	b.busy()
}

// listener waits for numbers by the protocol of bell: hush, look once more, sleep.
type listener struct {
	bell  bell
	heard atomic.Int64
}

// tell brings a number.
func (l *listener) tell(n int64) {
	l.heard.Store(n)
	l.bell.ring()
}

// listen blocks until n has been brought.
func (l *listener) listen(n int64, r *rand.Rand) {
	for {
		l.bell.hush()
		for range r.IntN(3) * r.IntN(100) {
			if l.bell.wasRung() {
				break
			}
			spinlock.Pause()
		}
		if l.heard.Load() >= n {
			return
		}
		slumberOn(&l.bell, -1, r.IntN(2) == 0)
	}
}

// Two threads wake one another in turn. A ring that is lost leaves both asleep.
func TestBellLosesNoRing(t *testing.T) {
	rounds := int64(20_000)
	if testing.Short() {
		rounds = 2000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var a, b listener
	done := make(chan struct{})
	play := func(mine, other *listener, first bool, salt uint64) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		r := rand.New(rand.NewPCG(seed, salt))
		for n := int64(1); n <= rounds; n++ {
			if first {
				other.tell(n)
			}
			mine.listen(n, r)
			if !first {
				other.tell(n)
			}
		}
	}
	go func() {
		play(&a, &b, false, 1)
		done <- struct{}{}
	}()
	go func() {
		play(&b, &a, true, 2)
		done <- struct{}{}
	}()
	awaitBoth(t, done, &a, &b)
}

// Many ring at once, and spuriously; each wants to be heard.
func TestBellWithManyRingers(t *testing.T) {
	const ringers = 4
	rounds := int64(3000)
	if testing.Short() {
		rounds = 300
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var owner listener
	var brought atomic.Int64
	done := make(chan struct{})
	for i := range ringers {
		go func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range rounds {
				brought.Add(1)
				owner.bell.ring()
				if r.IntN(4) == 0 {
					time.Sleep(time.Duration(r.IntN(20)) * time.Microsecond)
				}
				if r.IntN(8) == 0 {
					owner.bell.ring()
				}
			}
		}()
	}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for brought.Load() < ringers*rounds {
			owner.bell.hush()
			if seen := brought.Load(); seen < ringers*rounds {
				slumberOn(&owner.bell, -1, seen%2 == 0)
			}
		}
		done <- struct{}{}
		done <- struct{}{}
	}()
	awaitBoth(t, done, &owner)
}

// awaitBoth waits for two who sleep for ever if a ring has been lost.
func awaitBoth(t *testing.T, done chan struct{}, listeners ...*listener) {
	t.Helper()
	const hang = 5 * time.Minute
	timeout := time.After(hang)
	for range 2 {
		select {
		case <-done:
		case <-timeout:
			for i, l := range listeners {
				t.Logf("listener %d: word %d, heard %d", i, l.bell.word.Load(), l.heard.Load())
			}
			t.Fatalf("nobody has been woken for %v", hang)
		}
	}
}

func TestBellSleepEndsByLimit(t *testing.T) {
	for _, brief := range []bool{false, true} {
		var b bell
		b.hush()
		began := clock.Now()
		for clock.Now() < began+clock.Instant(2*time.Millisecond) { // signals may end a sleep early
			b.hush()
			slumberOn(&b, 2*time.Millisecond, brief)
			require.True(t, b.wasRung(), "a bell that nobody sleeps on is left rung")
		}
		b.hush()
		slumberOn(&b, 0, brief)
		b.ring()
		slumberOn(&b, -1, brief) // returns at once: it has been rung
		b.hush()
		b.ring()
		slumberOn(&b, -1, brief)
	}
}
