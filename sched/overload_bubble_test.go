//go:build go1.25

package sched

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullRoom makes a room for one task, which is taken. It returns the channel of the reports of its overload, which
// has room for them.
func fullRoom(t *testing.T, limit time.Duration) (*room, chan overloadReport) {
	reports := make(chan overloadReport, 100)
	r := newRoom(&Config{MaxQueued: 1, OverloadAfter: limit,
		Overloaded: func(waiting int, since time.Duration) { reports <- overloadReport{waiting, since} }})
	require.NoError(t, r.take(noWait, false))
	return r, reports
}

// overloadReport is a call of Config.Overloaded.
type overloadReport struct {
	waiting int
	since   time.Duration
}

// waitsFor has a caller wait for a place in r, and returns the channel of what comes of it.
func waitsFor(ctx context.Context, r *room) <-chan error {
	result := make(chan error, 1)
	go func() { result <- r.take(ctx, false) }()
	synctest.Wait()
	return result
}

// Overload is told once a second, for as long as callers wait, and anew when they wait again.
func TestOverloadIsToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t, 0)
		ctx := t.Context()
		first := waitsFor(ctx, r)
		time.Sleep(time.Second / 2)
		second := waitsFor(ctx, r)
		time.Sleep(3 * time.Second)
		for s := range 3 {
			require.Equal(t, overloadReport{2, time.Duration(s+1) * time.Second}, <-reports)
		}
		require.Empty(t, reports, "reports after 3.5 s")
		r.give(1)
		require.NoError(t, <-first)
		time.Sleep(time.Second)
		require.Equal(t, overloadReport{1, 4 * time.Second}, <-reports)
		r.give(1)
		require.NoError(t, <-second)
		for _, pause := range []time.Duration{time.Hour, 1100 * time.Millisecond} {
			time.Sleep(pause)
			require.Empty(t, reports, "no caller waits any more")
			result := waitsFor(ctx, r)
			time.Sleep(time.Second + time.Millisecond)
			require.Equal(t, 1, (<-reports).waiting)
			require.Empty(t, reports)
			r.give(1)
			require.NoError(t, <-result)
		}
	})
}

// Callers that come at the moment when a report is due do not put it off.
func TestOverloadIsToldWhileCallersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 100
		r, reports := fullRoom(t, 0)
		var results []<-chan error
		for range callers {
			results = append(results, waitsFor(t.Context(), r))
			time.Sleep(time.Second / 10)
		}
		time.Sleep(10 * time.Millisecond) // for a spinlock, see requirePassed
		require.Len(t, reports, callers/10, "reports, one a second")
		for _, result := range results {
			r.give(1)
			require.NoError(t, <-result)
		}
	})
}

// Callers that wait for moments only, and find free places in between, are no overload.
func TestShortWaitsAreNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t, 0)
		for range 10_000 {
			result := waitsFor(t.Context(), r)
			time.Sleep(time.Millisecond)
			r.give(1)
			require.NoError(t, <-result)
			r.give(1)
			require.NoError(t, r.take(noWait, false))
		}
		require.Empty(t, reports)
	})
}

// Waits that are short, but between which there is no free place, are.
func TestAFullRoomIsOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t, 0)
		for range 5 {
			result := waitsFor(t.Context(), r)
			time.Sleep(time.Second - time.Millisecond)
			r.give(1)
			require.NoError(t, <-result)
		}
		require.Len(t, reports, 4, "reports in 5 s")
	})
}

// A report that takes long delays the next one, and is not made twice at a time.
func TestSlowReportOfOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, atOnce atomic.Int64
		r := newRoom(&Config{MaxQueued: 1, Overloaded: func(int, time.Duration) {
			assert.EqualValues(t, 1, atOnce.Add(1))
			time.Sleep(5 * time.Second)
			calls.Add(1)
			atOnce.Add(-1)
		}})
		require.NoError(t, r.take(noWait, false))
		var results []<-chan error
		for range 20 {
			results = append(results, waitsFor(t.Context(), r))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 3, calls.Load(), "reports in 21 s, of which one takes 5 s")
		for _, result := range results {
			r.give(1)
			require.NoError(t, <-result)
		}
		time.Sleep(10 * time.Second)
	})
}

// unending is a context that does not end at its deadline.
type unending struct{ context.Context }

func (unending) Done() <-chan struct{} { return make(chan struct{}) }
func (unending) Err() error            { return nil }

// requirePassed checks how much time has passed since start. A spinlock that is not free sleeps for microseconds, by
// the bubble's clock.
func requirePassed(t *testing.T, want time.Duration, start time.Time) {
	t.Helper()
	require.GreaterOrEqual(t, time.Since(start), want)
	require.Less(t, time.Since(start), want+10*time.Millisecond)
}

// A caller gives up after the limit, or when its context is done, whichever comes first, and takes no place.
func TestOverloadErrorComesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5 * time.Second
		r, _ := fullRoom(t, limit)
		cause := errors.New("the audience has left")
		early, cancel := context.WithTimeoutCause(t.Context(), limit/2, cause)
		defer cancel()
		late, cancel := context.WithTimeoutCause(t.Context(), 9*limit, cause)
		defer cancel()
		start := time.Now()
		lasting, leaving, patient := waitsFor(t.Context(), r), waitsFor(early, r), waitsFor(late, r)
		require.ErrorIs(t, <-leaving, cause)
		requirePassed(t, limit/2, start)
		for _, result := range []<-chan error{lasting, patient} {
			err := <-result
			require.ErrorIs(t, err, ErrOverload)
			require.Regexp(
				t, `waited 5(\.00\d+)?s for room, and 1 still wait to begin \(Config\.MaxQueued\)`, err.Error(),
			)
			requirePassed(t, limit, start)
		}
		require.Zero(t, r.waiting.Load())
		start = time.Now()
		require.ErrorIs(t, r.take(unending{early}, false), ErrOverload)
		requirePassed(t, limit, start)
		admitted := waitsFor(late, r)
		time.Sleep(limit - time.Nanosecond)
		r.give(1)
		require.NoError(t, <-admitted, "there was room in the last moment")
	})
}
