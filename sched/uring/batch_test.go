package uring

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/internal/clock"
)

func TestBatch(t *testing.T) {
	var now clock.Instant
	// after returns what the batch plans when n completions have come after each gap, for some requests in turn.
	after := func(b *batch, gap time.Duration, n, requests int) (int, time.Duration) {
		next := 0
		for end := now + 3*activeInterval + clock.Instant(10*gap); now < end; {
			now += clock.Instant(gap)
			var done []Completion
			for range n {
				done = append(done, Completion{id: 7<<32 | uint64(next%requests)})
				next++
			}
			b.came(append(done, Completion{}, Completion{}), 2, now) // two were sends
		}
		return b.plan()
	}
	var b batch
	more, _ := b.plan()
	require.Zero(t, more, "nothing is known yet")
	more, _ = after(&b, 10*shortLimit, 1, 50)
	require.Zero(t, more, "they are far apart")
	more, limit := after(&b, shortLimit/2, 4, 50)
	require.InDelta(t, 8, more, 1)
	require.InDelta(t, shortLimit, limit, float64(shortLimit)/10)
	more, _ = after(&b, shortLimit/2, 4, 1)
	require.Zero(t, more, "all are for one request: its receiver waits for nothing else")
	more, limit = after(&b, shortLimit/2, 4, 2*fewRequests)
	require.InDelta(t, 16, more, 2)
	require.InDelta(t, 2*shortLimit, limit, float64(shortLimit)/10)
	more, limit = after(&b, shortLimit/2, 100, 10_000)
	require.Equal(t, largestBatch, more)
	require.Equal(t, longLimit, limit)
	more, _ = after(&b, 100*shortLimit, 1, 10_000)
	require.Zero(t, more, "they have become rare")
}

// withoutSignals calls f with all signals of the thread, to which the caller is locked, held back: those by which the
// runtime interrupts goroutines, too.
func withoutSignals(t *testing.T, f func()) {
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	require.NoError(t, unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before))
	defer func() { require.NoError(t, unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)) }()
	f()
}

// A wait for many ends with fewer when the limit of its batch has passed, and then with the first completion that
// comes. A wait that the limit of its turn ends does the same.
func TestWaitForManyEnds(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		expectMany := func() { r.batch = batch{rate: 100 * rateUnit, active: 100} }
		expectMany()
		must(t, r, Entry{id: 1, Op: OpNop})
		require.Len(t, await(t, r, 1), 1)

		expectMany()
		withoutSignals(t, func() { // one may end a turn early
			began := clock.Now()
			done, err := r.turn(20 * time.Millisecond)
			require.NoError(t, err)
			require.Empty(t, done)
			require.GreaterOrEqual(
				t, time.Duration(clock.Now()-began), 19*time.Millisecond,
				"the limit of the turn holds, not only that of the batch",
			)
		})

		var ends [2]int
		require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
		defer func() { _, _ = unix.Close(ends[0]), unix.Close(ends[1]) }()
		must(t, r, Entry{id: 2, Op: OpPoll, FD: int32(ends[0]), Flags: unix.POLLIN})
		expectMany()
		go func() {
			time.Sleep(5 * time.Millisecond)
			_, _ = unix.Write(ends[1], []byte{1})
		}()
		require.Len(t, await(t, r, 1), 1)

		expectMany()
		go r.wake()
		woken := r.counts().Wakes
		for end := clock.After(hang); r.counts().Wakes == woken; {
			require.Less(t, clock.Now(), end)
			_, err := r.turn(-1)
			require.NoError(t, err)
		}
		runtime.KeepAlive(r)
	})
}

// After a wake-up by another thread the ring waits for fewer completions: the next wake-up must not be late.
func TestWakeMakesBatchesSmaller(t *testing.T) {
	eachSetup(t, 8, func(t *testing.T, r *ring) {
		const rate = 12 * rateUnit
		for _, woken := range []bool{false, true} {
			r.batch.rate = rate
			if woken {
				r.wake()
			}
			_, err := r.turn(time.Microsecond)
			require.NoError(t, err)
			require.Equal(t, woken, r.batch.rate <= rate/3, "rate %d", r.batch.rate)
		}
	})
}
