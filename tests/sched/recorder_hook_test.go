package sched_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/trace"
	"fiberlab/tests/internal/suite"
)

// witness is a recorder that writes down what it is told of tasks, and checks that its lock is held during the call.
type witness struct {
	sync.Mutex
	t        *testing.T
	detailed bool
	told     []string
	details  []sched.Event
}

func (w *witness) Worker(number int) sched.WorkerRecorder {
	if number > 0 {
		return nil
	}
	return w
}

func (w *witness) Detailed() bool { return w.detailed }

func (w *witness) Record(e sched.Event) {
	assert.False(w.t, w.TryLock(), "%+v: the lock is not held", e)
	assert.Zero(w.t, e.Worker)
	text := ""
	switch e.Kind {
	case sched.KindTransition:
		if e.Text != "" || e.By >= 0 {
			w.details = append(w.details, e)
		}
		if e.Why != sched.WhyWait && e.Why != sched.WhyNotify {
			return
		}
		text = e.Why.String()
	case sched.KindTaskBegan:
		text = "begins " + e.Task
	case sched.KindTaskEnded:
		text = "ends"
	case sched.KindMark:
		text = "says " + e.Text
	case sched.KindUnbound:
		text = "unbinds" // no goroutine was bound
	default:
		return
	}
	w.told = append(w.told, fmt.Sprintf("fiber %d %s", e.Fiber, text))
}

// Any recorder is told the same, in order and with its lock held; and details only if it wants them.
func TestARecorderIsToldInOrder(t *testing.T) {
	suite.EachConfig(t, []int{1}, func(t *testing.T, cfg sched.Config) {
		for _, detailed := range []bool{false, true} {
			w := &witness{t: t, detailed: detailed}
			cfg.Recorder = w
			s, err := sched.New(cfg)
			require.NoError(t, err)
			require.NoError(t, s.Enqueue(sched.Task{Name: "first", Func: func() {
				f := sched.Current()
				assert.NoError(t, s.Go(f.Notify))
				f.Wait(nil, nil)
				sched.AddMark("on")
			}}))
			require.NoError(t, s.Close())
			const first = 1 // the main fiber begins no task
			on := func(n int, what string) string { return fmt.Sprintf("fiber %d %s", first+n, what) }
			assert.Equal(t, []string{on(0, "begins first"), on(0, "wait"),
				on(1, "begins "), on(0, "notify"), on(1, "ends"), on(0, "says on"), on(0, "ends")}, w.told)
			if !detailed {
				assert.Empty(t, w.details)
			} else if assert.Len(t, w.details, 2, "a wait and a notification: %+v", w.details) {
				assert.Equal(t, "sched.(*Fiber).Wait", w.details[0].Text)
				assert.Equal(t, []int{0, first + 1}, []int{w.details[1].By, w.details[1].ByFiber})
			}
		}
	})
}

// A nil *trace.Recorder records nothing, like none.
func TestANilRecorder(t *testing.T) {
	var r *trace.Recorder
	require.NoError(t, sched.Run(sched.Config{Workers: 1, Recorder: r}, func() { sched.AddMark("nowhere") }))
}
