package trace

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Idling is something that a worker without work does, or that is done to it.
type Idling struct {
	At     time.Duration // since the recorder was made
	Worker int           // its number
	What   IdleWhat
	// of the two wake-ups: the number of the worker that woke it; less than 0: none did, but a thread outside
	By int
	// of Stole and Completed: how many tasks, fibers or completions, and whose they were
	Count int
	From  string
}

// IdleWhat is the kind of an Idling.
type IdleWhat uint8

const (
	SpinBegan     IdleWhat = iota // it looks for work, awake
	SpinEnded                     // it does so no longer
	WokenSpinning                 // it was told of work while it spun. See sched.WorkerRecorder for who tells
	WokenAsleep                   // it was woken for work while it slept
	Stole                         // it has taken tasks or fibers from another worker
	Completed                     // it has collected completions from its device
)

// Idling returns what is kept of it, the earliest first: as much of each worker as transitions.
func (r *Recorder) Idling() []Idling {
	var list []Idling
	r.each(func(part *buffer) { list = part.idling.appendTo(list) })
	slices.SortStableFunc(list, func(a, b Idling) int { return int(a.At - b.At) })
	return list
}

// Spin implements [sched.WorkerRecorder].
func (b *buffer) Spin(at time.Duration, begins bool) {
	what := SpinEnded
	if begins {
		what = SpinBegan
	}
	b.keepIdling(Idling{At: at, What: what, By: -1})
}

// Woken implements [sched.WorkerRecorder].
func (b *buffer) Woken(at time.Duration, by int, asleep bool) {
	what := WokenSpinning
	if asleep {
		what = WokenAsleep
	}
	b.keepIdling(Idling{At: at, What: what, By: by})
}

// Took implements [sched.WorkerRecorder].
func (b *buffer) Took(at time.Duration, n int, from string) {
	what := Stole
	if from == "" {
		what = Completed
	}
	b.keepIdling(Idling{At: at, What: what, By: -1, Count: n, From: from})
}

func (b *buffer) keepIdling(i Idling) {
	if b.recorder.capacity > 0 {
		i.At, i.Worker = i.At-b.recorder.began, b.worker
		b.idling.keep(i, b.recorder.capacity)
	}
}

// idling writes a slice for each time that a worker spun, and an instant for each wake-up, on the tracks of both
// workers. A spin and what the worker runs may overlap without one being in the other, so a worker's spins have a track
// of their own. A spin whose beginning is not kept is left out; a time that lasts is drawn up to last.
func (t *traceWriter) idling(list []Idling, last time.Duration) {
	began := make(map[int]time.Duration)
	spin := func(worker int, until time.Duration) {
		if since, ok := began[worker]; ok {
			delete(began, worker)
			t.track(traceSpins+workerThread(worker), workerName(worker)+" spins")
			t.event(slice("spin", "spin", traceWorkers, traceSpins+workerThread(worker), since, until))
		}
	}
	for _, i := range list {
		switch i.What {
		case SpinBegan:
			began[i.Worker] = i.At
		case SpinEnded:
			spin(i.Worker, i.At)
		case WokenSpinning:
			t.wake(i, "spinning")
		case WokenAsleep:
			t.wake(i, "asleep")
		case Stole:
			t.instant(
				i.Worker, fmt.Sprintf("steals %d from %s", i.Count, i.From), "steal", i.At, map[string]string{"from": i.From},
			)
		case Completed:
			t.instant(i.Worker, fmt.Sprintf("%d completions", i.Count), "completions", i.At, nil)
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(began)) {
		spin(worker, max(last, began[worker]))
	}
}

// wake writes a wake-up of a worker that was in that state.
func (t *traceWriter) wake(i Idling, state string) {
	by := "no worker"
	if i.By >= 0 {
		by = workerName(i.By)
		t.instant(i.By, "wakes "+workerName(i.Worker), "wake", i.At, map[string]string{"it was": state})
	}
	t.instant(i.Worker, "woken", "woken", i.At, map[string]string{"it was": state, "by": by})
}
