package sched

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/clock"
)

// planted is a worker whose thread has not been started, of a scheduler under a policy, and a fiber that
// it has made and that runs.
func planted(t *testing.T, p Policy) (*Worker, *Fiber) {
	t.Helper()
	return plantedWith(t, Config{Workers: 2, Policy: p})
}

// plantedWith is planted by a configuration.
func plantedWith(t *testing.T, cfg Config) (*Worker, *Fiber) {
	t.Helper()
	cfg.Name = "planted"
	cfg, err := cfg.checked()
	require.NoError(t, err)
	s := newScheduler(cfg)
	w := s.workers[0]
	f := &Fiber{maker: w, id: 5}
	f.message.Value = ofFiber(f)
	for _, w := range s.workers {
		w.local.main = &Fiber{maker: w, home: w}
		w.local.main.word.Store(uint64(Running))
	}
	if s.migration == nil {
		f.home = w
	}
	f.worker.Store(w)
	f.word.Store(uint64(Running))
	return w, f
}

// readied is how many fibers have been put where it will be run.
func readied(w *Worker) int {
	n := 0
	for m := w.mailbox.Take(); m != nil; m = m.Next() {
		n++
	}
	if w.scheduler.migration != nil {
		n += w.scheduler.policy.pending(nil)
	}
	return n
}

// requireWord checks the state of f and the marks in its word.
func requireWord(t *testing.T, f *Fiber, state State, marks word, why string) {
	t.Helper()
	w := f.load()
	require.Equal(t, state, w.state(), why)
	require.Equal(t, marks, w&(oneWait-1)&^stateMask, why)
}

// A fiber with a home is Queued by its first waker, and delivered once.
func TestWakeOfAFiberWithAHome(t *testing.T) {
	w, f := planted(t, Stealing)
	require.False(t, f.wake(0), "it runs")
	f.block(clock.Never, 0)
	requireWord(t, f, Yielded, 0, "blocked")
	require.False(t, f.wake(parked), "it has not parked")
	require.True(t, f.wake(0))
	requireWord(t, f, Queued, 0, "woken")
	require.False(t, f.wake(0), "it has been woken")
	require.Equal(t, 1, readied(w))
}

// A fiber that may migrate is not delivered before it is published, whatever comes first.
func TestWakeBeforePublication(t *testing.T) {
	w, f := planted(t, RoundRobin)
	f.block(clock.Never, parked)
	requireWord(t, f, Yielded, unpublished|parked, "blocked")
	require.True(t, f.wake(parked))
	requireWord(t, f, Yielded, unpublished|parked|notified, "woken")
	require.False(t, f.wake(0), "one wake-up is enough")
	require.Zero(t, readied(w), "its registers are not saved")
	f.publish()
	requireWord(t, f, Queued, 0, "published")
	require.Equal(t, 1, readied(w))

	w, f = planted(t, RoundRobin)
	f.block(clock.Never, parked)
	f.publish()
	requireWord(t, f, Yielded, parked, "published before it is woken")
	require.Zero(t, readied(w))
	require.True(t, f.wake(parked))
	requireWord(t, f, Queued, 0, "woken")
	require.Equal(t, 1, readied(w))

	w, f = planted(t, RoundRobin)
	f.block(clock.Never, 0)
	require.True(t, f.wake(0))
	require.True(t, f.queueIfNotified(), "its worker has not left it")
	requireWord(t, f, Queued, 0, "recalled")
	require.False(t, f.queueIfNotified(), "once")
	require.Zero(t, readied(w))
}

// A fiber that yields is delivered when it has been left, and nothing else delivers it.
func TestYieldBeforePublication(t *testing.T) {
	w, f := planted(t, RoundRobin)
	f.store(f.load().in(Queued)|unpublished, WhyYield)
	require.False(t, f.wake(0), "it is not blocked")
	require.Zero(t, readied(w))
	f.publish()
	requireWord(t, f, Queued, 0, "published")
	require.Equal(t, 1, readied(w))
}

// A deadline ends its own wait, published or not, unless it comes too late.
func TestDeadlines(t *testing.T) {
	for _, p := range Policies() {
		w, f := planted(t, p)
		migrates := w.scheduler.migration != nil
		f.block(1, 0)
		first := f.timer
		if migrates {
			w.word.Look()
			require.True(t, first.expire())
			require.True(t, w.word.Notified(), "its worker does the rest")
			require.Zero(t, readied(w), "its registers are not saved")
			requireWord(t, f, Waiting, unpublished|notified|expired, "expired before publication")
			require.False(t, f.wake(0), "its deadline was first")
			f.publish()
			require.Equal(t, 1, readied(w))
		} else {
			require.True(t, first.expire())
			require.False(t, f.wake(0), "its deadline was first")
			require.Equal(t, 1, readied(w))
		}
		requireWord(t, f, Queued, expired, p.String())
		require.False(t, first.expire(), "it has ended")
		require.True(t, f.resume(), "its deadline ended the wait")
		requireWord(t, f, Running, 0, p.String())

		f.block(1, 0)
		f.publish()
		require.False(t, first.expire(), "it belongs to the wait before")
		requireWord(t, f, Waiting, 0, "a late deadline misses")
		require.True(t, f.wake(0))
		require.False(t, f.timer.expire(), "a notification was first")
		require.False(t, f.resume(), "it was notified")

		f.block(1, 0)
		require.True(t, f.wake(0))
		require.False(t, f.timer.expire(), "a notification was first, published or not")
		f.publish()
		require.False(t, f.resume(), "it was notified")
	}
}

// Of several that want to end one wait, one succeeds.
func TestOneWakerSucceeds(t *testing.T) {
	for _, p := range Policies() {
		for round := range 300 {
			w, f := planted(t, p)
			f.block(1, parked)
			var woken atomic.Int64
			var ready, done sync.WaitGroup
			ready.Add(1)
			compete := func(wake func() bool) {
				done.Add(1)
				go func() {
					defer done.Done()
					ready.Wait()
					if wake() {
						woken.Add(1)
					}
				}()
			}
			compete(func() bool { return f.wake(0) })
			compete(func() bool { return f.wake(parked) })
			compete(f.timer.expire)
			if w.scheduler.migration != nil {
				compete(func() bool { f.publish(); return false })
			}
			ready.Done()
			done.Wait()
			require.Equal(t, Queued, f.State(), "%v, round %d", p, round)
			require.Equal(t, 1, readied(w), "%v, round %d", p, round)
			require.EqualValues(t, 1, woken.Load(), "%v, round %d", p, round)
		}
	}
}

// unblock takes a wait back that nothing has ended.
func TestUnblock(t *testing.T) {
	for _, p := range Policies() {
		w, f := planted(t, p)
		f.block(clock.Never, parked)
		require.True(t, f.unblock())
		requireWord(t, f, Running, 0, p.String())
		f.block(clock.Never, parked)
		require.True(t, f.wake(parked))
		require.False(t, f.unblock(), "it has been woken")
		require.Equal(t, w.scheduler.migration == nil, f.State() == Queued)
	}
}

// hang is how long a test waits for what should come at once.
const hang = 2 * time.Minute

// rounds is how often a test repeats what it does: less in a short run.
func rounds(full int64) int64 {
	if testing.Short() {
		return full / 10
	}
	return full
}

// Go's allocator places an object of 256 bytes at the beginning of a cache line, one of 257 to 288 bytes not always.
func TestAFiberFillsFourCacheLines(t *testing.T) {
	require.EqualValues(t, 256, unsafe.Sizeof(Fiber{}))
	require.LessOrEqual(t, unsafe.Offsetof(Fiber{}.since)+unsafe.Sizeof(Fiber{}.since), uintptr(64), "each wait uses it")
}
