//go:build go1.25

package admission

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullRoom makes a room for one task, which is taken. It returns the channel of the reports of its overload, which
// has room for them.
func fullRoom(t *testing.T) (*Room, chan overloadReport) {
	reports := make(chan overloadReport, 100)
	r := New(1, 0)
	r.Overloaded = func(waiting int, since time.Duration) { reports <- overloadReport{waiting, since} }
	require.NoError(t, r.TryTake(false))
	return r, reports
}

// overloadReport is a call of Config.Overloaded.
type overloadReport struct {
	waiting int
	since   time.Duration
}

// waitsFor has a caller wait for a place in r, and returns the channel of what comes of it.
func waitsFor(ctx context.Context, r *Room) <-chan error {
	result := make(chan error, 1)
	go func() { result <- take(ctx, r, false) }()
	synctest.Wait()
	return result
}

// Overload is told once a second, for as long as callers wait, and anew when they wait again.
func TestOverloadIsToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t)
		ctx := t.Context()
		first := waitsFor(ctx, r)
		time.Sleep(time.Second / 2)
		second := waitsFor(ctx, r)
		time.Sleep(3 * time.Second)
		for s := range 3 {
			require.Equal(t, overloadReport{2, time.Duration(s+1) * time.Second}, <-reports)
		}
		require.Empty(t, reports, "reports after 3.5 s")
		r.Give()
		require.NoError(t, <-first)
		time.Sleep(time.Second)
		require.Equal(t, overloadReport{1, 4 * time.Second}, <-reports)
		r.Give()
		require.NoError(t, <-second)
		for _, pause := range []time.Duration{time.Hour, 1100 * time.Millisecond} {
			time.Sleep(pause)
			require.Empty(t, reports, "no caller waits any more")
			result := waitsFor(ctx, r)
			time.Sleep(time.Second + time.Millisecond)
			require.Equal(t, 1, (<-reports).waiting)
			require.Empty(t, reports)
			r.Give()
			require.NoError(t, <-result)
		}
	})
}

// Callers that come at the moment when a report is due do not put it off.
func TestOverloadIsToldWhileCallersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 100
		r, reports := fullRoom(t)
		var results []<-chan error
		for range callers {
			results = append(results, waitsFor(t.Context(), r))
			time.Sleep(time.Second / 10)
		}
		time.Sleep(10 * time.Millisecond) // a spinlock that is not free sleeps for microseconds, by the bubble's clock
		require.Len(t, reports, callers/10, "reports, one a second")
		for _, result := range results {
			r.Give()
			require.NoError(t, <-result)
		}
	})
}

// A place that its desk has not handed on goes to a caller that waits, and the room does not count as full.
func TestSinglePlaceIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 1024
		reports := 0
		r := New(places, 2)
		r.Overloaded = func(int, time.Duration) { reports++ }
		desks := []*Desk{r.AddDesk(), r.AddDesk()}
		for range places {
			require.NoError(t, r.TryTake(false))
		}
		for i := range 10 {
			result := waitsFor(t.Context(), r)
			desks[i%2].Give()
			require.NoError(t, <-result)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, r.TryTake(false), ErrFull)
		desks[0].Give()
		desks[0].Close()
		require.NoError(t, r.TryTake(false), "a desk that has been closed has taken a place with it")
		require.Zero(t, reports)
	})
}

// Callers that wait for moments only, and find free places in between, are no overload.
func TestShortWaitsAreNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t)
		for range 10_000 {
			result := waitsFor(t.Context(), r)
			time.Sleep(time.Millisecond)
			r.Give()
			require.NoError(t, <-result)
			r.Give()
			require.NoError(t, r.TryTake(false))
		}
		require.Empty(t, reports)
	})
}

// Waits that are short, but between which there is no free place, are.
func TestAFullRoomIsOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := fullRoom(t)
		for range 5 {
			result := waitsFor(t.Context(), r)
			time.Sleep(time.Second - time.Millisecond)
			r.Give()
			require.NoError(t, <-result)
		}
		require.Len(t, reports, 4, "reports in 5 s")
	})
}

// A report that takes long delays the next one, and is not made twice at a time.
func TestSlowReportOfOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, atOnce atomic.Int64
		r := New(1, 0)
		r.Overloaded = func(int, time.Duration) {
			assert.EqualValues(t, 1, atOnce.Add(1))
			time.Sleep(5 * time.Second)
			calls.Add(1)
			atOnce.Add(-1)
		}
		require.NoError(t, r.TryTake(false))
		var results []<-chan error
		for range 20 {
			results = append(results, waitsFor(t.Context(), r))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		require.EqualValues(t, 3, calls.Load(), "reports in 21 s, of which one takes 5 s")
		for _, result := range results {
			r.Give()
			require.NoError(t, <-result)
		}
		time.Sleep(10 * time.Second)
	})
}
