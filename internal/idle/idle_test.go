package idle

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
	"fiberlab/internal/spinlock"
)

// eachWay runs test for each way to sleep.
func eachWay(t *testing.T, test func(t *testing.T, way Way, newOne func() *Word)) {
	for way, name := range map[Way]string{OnThread: "on thread", AsGoroutine: "as goroutine", InDevice: "in device"} {
		t.Run(name, func(t *testing.T) {
			test(t, way, func() *Word {
				w := New(func() *Word { return nil })
				if way == InDevice {
					w.SetDevice(newNap())
				}
				return w
			})
		})
	}
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

func (nap) Ready() bool { return false }

// listener waits for numbers by the protocol of Word: Look, look once more, Commit, Sleep.
type listener struct {
	word  *Word
	way   Way
	heard atomic.Int64
}

// tell brings a number, by a Swap: see the package.
func (l *listener) tell(n int64) {
	l.heard.Swap(n)
	l.word.Notify()
}

// listen blocks until n has been brought.
func (l *listener) listen(n int64, r *rand.Rand) {
	for l.word.Look(); l.heard.Load() < n; l.word.Look() {
		if r.IntN(3) == 0 {
			l.word.Spin(
				clock.After(time.Duration(r.IntN(20))*time.Microsecond), func() bool { return l.heard.Load() >= n },
			)
			continue
		}
		if l.word.Commit(l.way) {
			l.word.Sleep(l.limit(r))
		}
	}
	l.word.Work()
}

// limit is how long the next sleep may take: at times so short that the limit meets a Notify.
func (l *listener) limit(r *rand.Rand) time.Duration {
	if r.IntN(3) == 0 {
		return time.Duration(r.IntN(40)) * time.Microsecond
	}
	return -1
}

// rounds is how often the tests below notify: less in a short run.
func rounds(full int64) int64 {
	if testing.Short() {
		return full / 10
	}
	return full
}

// awaitAll waits until n have told done. It fails if progress, a count that grows with each notification that has
// arrived, does not grow: one sleeps without end then.
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

// A worker that looks and finds nothing, while a thread brings work and finds it busy, would sleep without end. The two
// meet in each round.
func TestWorkerSeesTheWorkOrIsNotified(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
		l := listener{word: newOne(), way: way}
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
			l.word.Work()
			meet(&begun, 0, n)
			pause(r)
			l.word.Look()
			seen := l.heard.Load() == n
			meet(&ended, 0, n)
			if !seen && !l.word.Notified() {
				missed++
			}
		}
		require.Zero(t, missed, "of %d rounds: the worker has not seen the work, and has not been notified", meetings)
	})
}

// Two threads wake one another in turn. A notification that is lost leaves both asleep.
func TestNoNotifyIsLost(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		a, b := listener{word: newOne(), way: way}, listener{word: newOne(), way: way}
		done := make(chan struct{}, 2)
		play := func(mine, other *listener, first bool, salt uint64) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := rand.New(rand.NewPCG(seed, salt))
			for n := int64(1); n <= rounds(8_000); n++ {
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
func TestManyNotifiers(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
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
					d.Notify()
					if r.IntN(4) == 0 {
						time.Sleep(time.Duration(r.IntN(20)) * time.Microsecond)
					}
					if r.IntN(8) == 0 {
						d.Notify()
					}
				}
			}()
		}
		done := make(chan struct{}, 1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for d.Look(); brought.Load() < all; d.Look() {
				if d.Commit(way) {
					d.Sleep(-1)
				}
				woken.Add(1)
			}
			done <- struct{}{}
		}()
		awaitAll(t, done, 1, func() int64 { return brought.Load() + woken.Load() })
	})
}

// What a word says to others, in each step of its worker.
func TestSteps(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
		d := newOne()
		require.False(t, d.Notify(), "it is busy")
		d.Look()
		require.False(t, d.Asleep())
		require.True(t, d.Notify())
		require.False(t, d.Notify(), "it has been told")
		require.False(t, d.Commit(way), "it was notified since it prepared")

		d.Look()
		require.True(t, d.Commit(way))
		require.True(t, d.Asleep(), "it is about to sleep")
		require.True(t, d.Notify())
		require.False(t, d.Asleep())
		d.WokenAt.Store(int64(clock.After(time.Hour))) // not late, however slow the machine is
		require.True(t, d.Waking())
		require.False(t, d.Notify(), "it has been told")
		d.Sleep(-1) // returns at once
		require.False(t, d.Waking())

		d.Look()
		d.Work()
		require.False(t, d.Notify(), "it has found work")

		d.Look()
		calls := 0
		d.Spin(clock.Never, func() bool { calls++; return true })
		require.Equal(t, 1, calls, "to look is enough if there is something")
		d.Work()
	})
}

func TestSleepEndsByItsLimit(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
		d := newOne()
		for range 3 { // the first sleep is taken for long, the next ones for brief
			for end := clock.After(2 * time.Millisecond); clock.Now() < end; { // signals may end a sleep early
				d.Look()
				require.True(t, d.Commit(way))
				d.Sleep(2 * time.Millisecond)
				require.False(t, d.Asleep())
				require.False(t, d.Notify(), "it is awake")
			}
			d.Look()
			require.True(t, d.Commit(way))
			d.Sleep(0)
		}
	})
}

// A worker spins after two brief sleeps in a row, and stops once its spins have found nothing.
func TestSpinIsEarned(t *testing.T) {
	const brief, long = longestSpin / 5, 20 * longestSpin
	d := New(func() *Word { return nil })
	d.Look()
	looks := func() (n int) {
		d.Spin(clock.Never, func() bool { n++; return false })
		return n
	}
	require.Equal(t, 1, looks(), "nothing is known of its sleeps: it looks once")
	d.spin.slept(brief)
	require.Equal(t, 1, looks(), "a single brief sleep tells nothing")
	d.spin.slept(long)
	d.spin.slept(brief)
	require.Equal(t, 1, looks(), "a long sleep came between the two")
	d.spin.slept(brief)
	spins := 0
	for ; looks() > 1; spins++ {
		require.Less(t, spins, 10, "no spin finds anything, and it still spins")
	}
	require.Positive(t, spins, "two brief sleeps in a row: a spin would have found the work")
	d.spin.found(brief)
	d.spin.found(long)
	require.Equal(t, 1, looks(), "the last spin took longer than it may: another thread had the processor")
}

// Where spins pay, a worker that runs dry first waits for a moment, before any other thread sees that it is idle.
func TestDelayIsForWorkersThatSpin(t *testing.T) {
	d := New(func() *Word { return nil })
	require.False(t, d.Delay(), "nothing is known of its sleeps")
	d.spin.limit = shortestSpin
	began := clock.Now()
	require.True(t, d.Delay())
	require.GreaterOrEqual(t, clock.Now()-began, delay)
	d.spin.yieldFirst = true
	require.False(t, d.Delay(), "the thread that brings work needs the processor")
}

// A wake-up that brings a worker nothing to run is no sign that more will come, nor of who will wake it.
func TestWakeUpInVainIsNoSign(t *testing.T) {
	for _, found := range []bool{true, false} {
		d := New(func() *Word { return nil })
		d.Look()
		require.True(t, d.Commit(OnThread))
		require.True(t, d.Notify())
		d.Sleep(-1)
		d.byThread, d.spin.brief = 2, true
		if found {
			d.Work()
		}
		d.Look()
		require.True(t, d.Commit(OnThread))
		require.Equal(t, found, d.WokenByThread())
		require.Equal(t, found, d.spin.brief)
	}
}

// A notification counts for one sleep, even if it meets the limit of that: the next sleep takes as long as it may.
func TestLateNotifyIsForOneSleep(t *testing.T) {
	w := New(func() *Word { return nil })
	for range rounds(2000) {
		w.Look()
		require.True(t, w.Commit(AsGoroutine))
		notified := make(chan struct{})
		go func() {
			defer close(notified)
			w.Notify()
		}()
		w.Sleep(time.Microsecond)
		<-notified
		require.Empty(t, w.token)
	}
}

// A worker knows whether the threads that have woken it could run it: not where a goroutine stays locked, or a worker
// is still busy. One time is no sign of more, and a wake-up that comes late is no sign at all.
func TestWokenByThread(t *testing.T) {
	eachWay(t, func(t *testing.T, way Way, newOne func() *Word) {
		busyOne, idleOne := newOne(), newOne()
		idleOne.Look()
		d := newOne()
		for i, wake := range []struct {
			by             *Word
			late, byThread bool
		}{
			{Locked, false, false}, {nil, false, false}, {busyOne, false, false}, {Locked, false, true},
			{busyOne, false, true}, {Locked, true, false}, {Locked, false, false}, {Locked, false, true},
			{idleOne, false, false},
		} {
			d.caller = func() *Word { return wake.by }
			d.Look()
			require.True(t, d.Commit(way))
			require.True(t, d.Notify())
			at := clock.After(time.Hour) // not late, however slow the machine is
			if wake.late {
				at = clock.Now() - 2*clock.Instant(LongestWake)
			}
			d.WokenAt.Store(int64(at))
			d.Sleep(-1)
			d.Work()
			require.Equal(t, wake.byThread, d.WokenByThread(), "wake-up %d", i)
		}
	})
}

// What other threads write has no cache line, nor the neighbour of one, together with what the worker uses.
func TestWordsOfOthersLieApart(t *testing.T) {
	const apart = 128
	var w Word
	require.GreaterOrEqual(t, unsafe.Offsetof(w.state), uintptr(apart))
	require.GreaterOrEqual(
		t, unsafe.Offsetof(w.caller)-unsafe.Offsetof(w.waker)-unsafe.Sizeof(w.waker), uintptr(apart),
	)
}
