package trace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fiberlab/sched"
)

// idling writes a slice for each time that a worker spun, and an instant for each wake-up, on the tracks of both
// workers. A spin and what the worker runs may overlap without one being in the other, so a worker's spins have a track
// of their own. A spin whose beginning is not kept is left out; a time that lasts is drawn up to last.
func (t *traceWriter) idling(events []sched.Event, last time.Duration) {
	began := make(map[int]time.Duration)
	spin := func(worker int, until time.Duration) {
		if since, ok := began[worker]; ok {
			delete(began, worker)
			t.track(traceSpins+workerThread(worker), workerName(worker)+" spins")
			t.event(slice("spin", "spin", traceWorkers, traceSpins+workerThread(worker), since, until))
		}
	}
	for _, e := range events {
		switch e.Kind {
		case sched.KindSpinBegan:
			began[e.Worker] = e.At
		case sched.KindSpinEnded:
			spin(e.Worker, e.At)
		case sched.KindWokenSpinning:
			t.wake(e, "spinning")
		case sched.KindWokenAsleep:
			t.wake(e, "asleep")
		case sched.KindStole:
			t.instant(
				e.Worker, fmt.Sprintf("steals %d from %s", e.Count, e.Text), "steal", e.At, map[string]string{"from": e.Text},
			)
		case sched.KindCompleted:
			t.instant(e.Worker, fmt.Sprintf("%d completions", e.Count), "completions", e.At, nil)
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(began)) {
		spin(worker, max(last, began[worker]))
	}
}

// wake writes a wake-up of a worker that was in that state.
func (t *traceWriter) wake(e sched.Event, state string) {
	by := "no worker"
	if e.By >= 0 {
		by = workerName(e.By)
		t.instant(e.By, "wakes "+workerName(e.Worker), "wake", e.At, map[string]string{"it was": state})
	}
	t.instant(e.Worker, "woken", "woken", e.At, map[string]string{"it was": state, "by": by})
}
