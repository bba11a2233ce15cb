package sched_test

import (
	"bytes"
	"context"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/fibertest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// residueLabel is the test's own: an idle runner keeps the label of the last body it served in another test.
func residueLabel(t *testing.T) string { return "left behind by " + t.Name() }

// label gives the calling goroutine a label of the profiler that it does not take away.
func label(t *testing.T) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("residue", residueLabel(t))))
}

// labelled counts the goroutines that have it.
func labelled(t *testing.T) int {
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	return strings.Count(profile.String(), strconv.Quote(residueLabel(t)))
}

// leaveResidue leaves all there is, after it has found none.
func leaveResidue(t *testing.T) {
	assert.Zero(t, labelled(t), "labels of the last one")
	assert.False(t, debug.SetPanicOnFault(true), "SetPanicOnFault of the last one")
	label(t)
	assert.NotZero(t, labelled(t))
}

// Labels of the profiler and SetPanicOnFault end with the task that has set them, however
// it ends, whichever fiber it ran on and whichever worker made that.
func TestTasksLeaveNoResidue(t *testing.T) {
	suite.EachConfig(t, suite.OneThread, func(t *testing.T, cfg sched.Config) {
		cfg.Panicked = func(any, []byte) {}
		cfg.Initializer = func(int) { leaveResidue(t) }
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 5 {
				schedtest.Perform(t, s, func() { leaveResidue(t) })
				schedtest.Perform(t, s, func() {
					defer panic("done")
					leaveResidue(t)
				})
			}
			// The fiber that carries on is made by a task that has labels.
			for range 3 {
				p := schedtest.NewSleeper()
				schedtest.Schedule(t, s, func() {
					leaveResidue(t)
					p.Task()
					assert.True(t, debug.SetPanicOnFault(true), "a task keeps it over a wait")
					assert.NotZero(t, labelled(t), "a task keeps its labels over a wait")
					label(t)
				})
				p.Blocked()
				schedtest.Perform(t, s, func() {
					assert.Equal(t, 1, labelled(t), "goroutines with labels: that of the task that waits")
					assert.False(t, debug.SetPanicOnFault(true))
				})
				p.Wake()
				p.Over.Wait()
			}
			schedtest.Perform(t, s, func() { assert.Zero(t, labelled(t)) })
		})
	})
}

// A goroutine that is bound keeps its own, and they do not reach its tasks.
func TestBoundGoroutineKeepsItsLabels(t *testing.T) {
	suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
		defer pprof.SetGoroutineLabels(context.Background())
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		label(t)
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			for range 5 {
				schedtest.Perform(t, s, func() {
					assert.False(t, debug.SetPanicOnFault(false))
					assert.Equal(t, 1, labelled(t), "goroutines with labels: the bound one")
				})
			}
		})
		assert.Equal(t, 1, labelled(t))
		assert.True(t, debug.SetPanicOnFault(true))
	})
}

// A body leaves none to the next fiber on its runner.
func TestBodiesLeaveNoResidue(t *testing.T) {
	fibertest.EachRoot(t, func(t *testing.T, root *fiber.Fiber) {
		for range 5 {
			f := fibertest.New(t, root.Backend(), "labelled", func() {
				leaveResidue(t)
			})
			fibertest.Enter(t, root, f)
			fibertest.Finish(t, f)
		}
	})
}
