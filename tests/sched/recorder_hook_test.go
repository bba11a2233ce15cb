package sched_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

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
	details  []sched.Transition
}

func (w *witness) Worker(number int) sched.WorkerRecorder {
	if number > 0 {
		return nil
	}
	return w
}

func (w *witness) tell(m sched.Moment, text string) {
	assert.False(w.t, w.TryLock(), "%s: the lock is not held", text)
	assert.Zero(w.t, m.Worker)
	w.told = append(w.told, fmt.Sprintf("fiber %d %s", m.Fiber, text))
}

func (w *witness) Detailed() bool                    { return w.detailed }
func (w *witness) Begin(m sched.Moment, task string) { w.tell(m, "begins "+task) }
func (w *witness) End(m sched.Moment)                { w.tell(m, "ends") }
func (w *witness) Mark(m sched.Moment, name string)  { w.tell(m, "says "+name) }
func (w *witness) Spin(time.Duration, bool)          {}
func (w *witness) Woken(time.Duration, int, bool)    {}
func (w *witness) Took(time.Duration, int, string)   {}
func (w *witness) Unbound()                          { w.t.Error("no goroutine was bound") }
func (w *witness) Transition(m sched.Moment, t sched.Transition) {
	if t.For != "" || t.By.Worker >= 0 {
		w.details = append(w.details, t)
	}
	if t.Why == sched.WhyWait || t.Why == sched.WhyNotify {
		w.tell(m, t.Why.String())
	}
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
				assert.Equal(t, "sched.(*Fiber).Wait", w.details[0].For)
				assert.Equal(t, sched.Notifier{Worker: 0, Fiber: first + 1}, w.details[1].By)
			}
		}
	})
}

// A nil *trace.Recorder records nothing, like none.
func TestANilRecorder(t *testing.T) {
	var r *trace.Recorder
	require.NoError(t, sched.Run(sched.Config{Workers: 1, Recorder: r}, func() { sched.AddMark("nowhere") }))
}
