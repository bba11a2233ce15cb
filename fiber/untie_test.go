package fiber

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"fiberlab/fiber/internal/identity"
	"fiberlab/internal/threadtest"
)

// C knows, as a root's thread, the thread to which the root was tied last.
func TestTieEntersTheThread(t *testing.T) {
	root, err := Attach(probed)
	require.NoError(t, err)
	requireThread := func(msg string) {
		t.Helper()
		b := root.runner.block
		m := identity.M()
		require.Equal(t, unix.Gettid(), int(b.tid), "%s: the thread's number", msg)
		require.Equal(t, m, uintptr(b.go_m), "%s: its M", msg)
		require.Equal(t, root.lock.m, m, "%s: the M that it is locked to", msg)
		require.Equal(t, *(*uintptr)(pointer(m)), uintptr(b.g), "%s: the g of its stack", msg)
		p := uintptr(unsafe.Pointer(b.p))
		require.True(t, m <= p && p < m+8*identity.WordsOfM, "%s: %#x is no word of the M at %#x", msg, p, m)
	}
	requireThread("attached")
	for range 3 {
		release, err := threadtest.Move(root.Untie, root.Tie)
		require.NoError(t, err)
		requireThread("tied to another thread")
		release()
	}
	require.NoError(t, root.Detach())
}

// wanted returns the demand, and whether a timer is pending.
func wanted() (demand, bool) {
	ticking.mu.Lock()
	defer ticking.mu.Unlock()
	return ticking.wanted, ticking.pending
}

func requireNoTick(t *testing.T, msg string) {
	t.Helper()
	require.Eventually(
		t, func() bool { _, pending := wanted(); return !pending }, time.Minute, time.Millisecond, "%s: it still ticks",
		msg,
	)
}

func requireTick(t *testing.T, want demand, msg string) {
	t.Helper()
	got, pending := wanted()
	require.Equal(t, want, got, msg)
	require.True(t, pending, "%s: it does not tick", msg)
}

// Only roots that have never untied themselves, and C bodies, keep the timer going.
func TestTickIsForThoseWhoWantIt(t *testing.T) {
	require.NoError(t, Supported())
	require.NoError(t, Drain()) // which attaches a root
	require.Eventually(
		t, func() bool { now, _ := wanted(); return now.none() }, time.Minute, time.Millisecond,
		"a test has left roots or C bodies",
	)
	requireNoTick(t, "nothing attached")

	root, err := Attach(probed)
	require.NoError(t, err)
	requireTick(t, demand{roots: 1}, "a root")
	for range 2 {
		require.NoError(t, root.Untie())
		require.NoError(t, root.Tie())
	}
	requireNoTick(t, "a root that has untied itself")

	bodies := make([]*Fiber, 3)
	for i := range bodies {
		bodies[i], err = NewC(Config{Backend: probed}, switchCall, nil) // never entered
		require.NoError(t, err)
		requireTick(t, demand{bodies: i + 1}, "C bodies")
	}
	goBody, err := New(Config{Backend: probed}, func() {})
	require.NoError(t, err)
	_, err = NewC(Config{Backend: Goroutine}, switchCall, nil)
	require.ErrorIs(t, err, ErrBackend)
	requireTick(t, demand{bodies: 3}, "a Go body, and a C body that could not be made")
	require.NoError(t, bodies[0].Close())
	require.ErrorIs(t, bodies[0].Close(), ErrClosed)
	requireTick(t, demand{bodies: 2}, "a body closed twice")
	require.NoError(t, CloseAll(bodies[1], bodies[2], goBody))
	now, _ := wanted()
	require.Zero(t, now, "all bodies closed")
	requireNoTick(t, "all bodies closed")

	other, over := make(chan error), make(chan struct{})
	go func() {
		second, err := Attach(probed)
		other <- err
		<-over
		other <- second.Detach()
	}()
	require.NoError(t, <-other)
	requireTick(t, demand{roots: 1}, "another root")
	close(over)
	require.NoError(t, <-other)
	require.NoError(t, root.Detach())
	now, _ = wanted()
	require.Zero(t, now, "all roots detached")
	requireNoTick(t, "all roots detached")
}

// C bodies that come and go faster than the timer fires have one timer, not one each.
func TestShortDemandsShareATimer(t *testing.T) {
	series := func() int {
		ticking.mu.Lock()
		defer ticking.mu.Unlock()
		return ticking.series
	}
	before, began := series(), monotonic()
	for range 1000 {
		tickFor(demand{bodies: 1})
		tickFor(demand{bodies: -1})
		runtime.Gosched()
	}
	// Each timer but the first is set after another one has fired.
	require.LessOrEqual(t, series()-before, 1+int((monotonic()-began)/shortestTick), "timers set for 1000 demands")
}
