package sched

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// eachDriver runs test for each kind of driver.
func eachDriver(t *testing.T, test func(t *testing.T, newOne func() driver)) {
	for name, newOne := range map[string]func() driver{
		"futex":     func() driver { return newFutexDriver() },
		"goroutine": func() driver { return newGoroutineDriver() },
		"slot": func() driver {
			d := newSlotDriver()
			d.serve = func() {}
			return d
		},
		"futex driver in a device": func() driver {
			d := newFutexDriver()
			d.sleepIn(newNap())
			return d
		},
		"futex driver untied": func() driver { return untiedDriver(newFutexDriver()) },
		"slot driver untied": func() driver {
			d := newSlotDriver()
			d.serve = func() {}
			return untiedDriver(d)
		},
		"slot driver in a device": func() driver {
			d := newSlotDriver()
			d.serve = func() {}
			d.sleepIn(newNap())
			return d
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, newOne) })
	}
}

// untiedDriver has d sleep as that of a worker that needs its thread: what the tests run on is no main fiber. How a
// worker sleeps without a thread, the suites of the scheduler show.
func untiedDriver(d driver) driver {
	newUntiedSleep(&Worker{driver: d, local: local{needsThread: true}})
	return d
}

// nap is a device that nothing but Wake wakes.
type nap struct{ woken chan struct{} }

func newNap() nap { return nap{make(chan struct{}, 1)} }

func (n nap) Wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

func (n nap) Wait(limit time.Duration, _ bool) {
	var over <-chan time.Time
	if limit >= 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-n.woken:
	case <-over:
	}
}

func (nap) Ready() bool  { return false }
func (nap) Poll()        {}
func (nap) Pending() int { return 0 }
func (nap) Close() error { return nil }

// listener waits for numbers by the protocol of driver: prepare, look once more, commit, sleep.
type listener struct {
	driver driver
	heard  atomic.Int64
}

// tell brings a number, by a Swap: see eventcount.
func (l *listener) tell(n int64) {
	l.heard.Swap(n)
	l.driver.notify()
}

// listen blocks until n has been brought.
func (l *listener) listen(n int64, r *rand.Rand) {
	for l.driver.prepare(); l.heard.Load() < n; l.driver.prepare() {
		if r.IntN(3) == 0 {
			l.driver.spin(
				clock.After(time.Duration(r.IntN(20))*time.Microsecond), func() bool { return l.heard.Load() >= n },
			)
			continue
		}
		if l.driver.commit() {
			l.driver.sleep(-1)
		}
	}
	l.driver.work()
}

// rounds is how often the tests below notify: less in a short run.
func rounds(full int64) int64 {
	if testing.Short() {
		return full / 10
	}
	return full
}

// awaitAll waits until n have told done. It fails if progress, a count that grows with each notification that has
// arrived, does not grow: one sleeps for ever then.
func awaitAll(t *testing.T, done chan struct{}, n int, progress func() int64) {
	t.Helper()
	look := time.NewTicker(hang)
	defer look.Stop()
	for before := progress(); n > 0; {
		select {
		case <-done:
			n--
		case <-look.C:
			now := progress()
			require.Greater(t, now, before, "no worker has been woken for %v: a notification was lost", hang)
			before = now
		}
	}
}

// hang is how long a test waits for what should come at once.
const hang = 2 * time.Minute

// A worker that prepares and finds nothing, while a thread brings work and finds it busy, would sleep for ever. The two
// meet in each round.
func TestWorkerSeesTheWorkOrIsNotified(t *testing.T) {
	eachDriver(t, func(t *testing.T, newOne func() driver) {
		l := listener{driver: newOne()}
		var begun, ended [2]atomic.Int64 // the round that each of the two has begun, and ended
		meet := func(at *[2]atomic.Int64, me int, n int64) {
			at[me].Swap(n)
			for looks := 1; at[1-me].Load() < n; looks++ {
				if looks%200 == 0 { // the other one may wait for this processor
					runtime.Gosched()
					_, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
				}
			}
		}
		meetings := rounds(20_000)
		// Each of the two takes a while, so that they do not always meet at the same place.
		pause := func(r *rand.Rand) {
			for range r.IntN(40) {
				spinlock.Pause()
			}
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		go func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for n := int64(1); n <= meetings; n++ {
				meet(&begun, 1, n)
				pause(r)
				l.tell(n)
				meet(&ended, 1, n)
			}
		}()
		missed := 0
		r := rand.New(rand.NewPCG(seed, 0))
		for n := int64(1); n <= meetings; n++ {
			l.driver.work()
			meet(&begun, 0, n)
			pause(r)
			l.driver.prepare()
			seen := l.heard.Load() == n
			meet(&ended, 0, n)
			if !seen && !l.driver.notified() {
				missed++
			}
		}
		require.Zero(t, missed, "of %d rounds: the worker has not seen the work, and has not been notified", meetings)
	})
}

// Two threads wake one another in turn. A notification that is lost leaves both asleep.
func TestDriverLosesNoNotification(t *testing.T) {
	eachDriver(t, func(t *testing.T, newOne func() driver) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		a, b := listener{driver: newOne()}, listener{driver: newOne()}
		done := make(chan struct{}, 2)
		play := func(mine, other *listener, first bool, salt uint64) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := rand.New(rand.NewPCG(seed, salt))
			for n := int64(1); n <= rounds(20_000); n++ {
				if first {
					other.tell(n)
				}
				mine.listen(n, r)
				if !first {
					other.tell(n)
				}
			}
			done <- struct{}{}
		}
		go play(&a, &b, false, 1)
		go play(&b, &a, true, 2)
		awaitAll(t, done, 2, b.heard.Load)
	})
}

// Many notify at once, and without cause.
func TestDriverWithManyNotifiers(t *testing.T) {
	eachDriver(t, func(t *testing.T, newOne func() driver) {
		const notifiers = 4
		all := notifiers * rounds(3000)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		d := newOne()
		var brought, woken atomic.Int64
		for i := range notifiers {
			go func() {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				for range all / notifiers {
					brought.Add(1)
					d.notify()
					if r.IntN(4) == 0 {
						time.Sleep(time.Duration(r.IntN(20)) * time.Microsecond)
					}
					if r.IntN(8) == 0 {
						d.notify()
					}
				}
			}()
		}
		done := make(chan struct{}, 1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for d.prepare(); brought.Load() < all; d.prepare() {
				if d.commit() {
					d.sleep(-1)
				}
				woken.Add(1)
			}
			done <- struct{}{}
		}()
		awaitAll(t, done, 1, func() int64 { return brought.Load() + woken.Load() })
	})
}

// What a driver tells others, in each step of its worker.
func TestDriverSteps(t *testing.T) {
	eachDriver(t, func(t *testing.T, newOne func() driver) {
		d := newOne()
		require.False(t, d.notify(), "it is busy")
		d.prepare()
		require.False(t, d.asleep())
		require.True(t, d.notify())
		require.False(t, d.notify(), "it has been told")
		require.False(t, d.commit(), "it was notified since it prepared")

		d.prepare()
		require.True(t, d.commit())
		require.True(t, d.asleep(), "it is about to sleep")
		require.True(t, d.notify())
		require.False(t, d.asleep())
		require.False(t, d.notify(), "it has been told")
		d.sleep(-1) // returns at once

		d.prepare()
		d.work()
		require.False(t, d.notify(), "it has found work")

		d.prepare()
		calls := 0
		d.spin(clock.Never, func() bool { calls++; return true })
		require.Equal(t, 1, calls, "to look is enough if there is something")
		d.work()
	})
}

func TestDriverSleepEndsByItsLimit(t *testing.T) {
	eachDriver(t, func(t *testing.T, newOne func() driver) {
		d := newOne()
		for range 3 { // the first sleep is taken for long, the next ones for brief
			for end := clock.After(2 * time.Millisecond); clock.Now() < end; { // signals may end a sleep early
				d.prepare()
				require.True(t, d.commit())
				d.sleep(2 * time.Millisecond)
				require.False(t, d.asleep())
				require.False(t, d.notify(), "it is awake")
			}
			d.prepare()
			require.True(t, d.commit())
			d.sleep(0)
		}
	})
}

// A worker spins after two brief sleeps in a row, and stops once its spins have found nothing.
func TestSpinIsEarned(t *testing.T) {
	const brief, long = longestSpin / 5, 20 * longestSpin
	d := newFutexDriver()
	d.prepare()
	looks := func() (n int) {
		d.spin(clock.Never, func() bool { n++; return false })
		return n
	}
	require.Equal(t, 1, looks(), "nothing is known of its sleeps: it looks once")
	d.budget.slept(brief)
	require.Equal(t, 1, looks(), "a single brief sleep tells nothing")
	d.budget.slept(long)
	d.budget.slept(brief)
	require.Equal(t, 1, looks(), "a long sleep came between the two")
	d.budget.slept(brief)
	spins := 0
	for ; looks() > 1; spins++ {
		require.Less(t, spins, 10, "no spin finds anything, and it still spins")
	}
	require.Positive(t, spins, "two brief sleeps in a row: a spin would have found the work")
}
