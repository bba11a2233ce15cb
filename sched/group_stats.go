package sched

import (
	"time"

	"fiberlab/internal/histogram"
)

// GroupStats counts what the workers of one scheduling group have done.
type GroupStats struct {
	Group   int    // its number
	Workers int    // how many it has
	Done    uint64 // tasks that have ended on them

	// What became of the wake-ups that the group's queues asked for.
	NoWorker uint64 // all workers were busy: the next that is free will look
	Spinners uint64 // a worker that spun was told
	Sleepers uint64 // a worker that slept was woken

	Wake  Latency // from the claim of a worker that sleeps until it runs
	Ready Latency // how long what is ready waits in a queue, of each 64th entry

	Shared  QueueStats // the queue that the group shares
	Private QueueStats // the workers' private queues together; of Greatest, the longest one

	StolenWithin uint64 // tasks and fibers that a worker has taken over from another worker's private queue
	StolenAcross uint64 // tasks and fibers that have been stolen from other groups
}

// Latency tells how long something takes. The median and the 99th percentile are at most an eighth too long.
type Latency struct {
	Count                 uint64 // how often it was measured
	Median, P99, Greatest time.Duration
}

// QueueStats is how many entries a queue has, and has had at most.
type QueueStats struct {
	Length, Greatest int
}

// stats reads what g has counted. Nothing stops meanwhile: the counts may be of slightly different moments.
func (g *group) stats(number int) GroupStats {
	s := GroupStats{
		Group: number, Workers: len(g.workers),
		NoWorker: g.wakes.none.Load(), Spinners: g.wakes.spinner.Load(), Sleepers: g.wakes.sleeper.Load(),
	}
	var wake, ready histogram.Sum
	wake.Add(&g.wakes.latency)
	s.Shared.add(g.shared, &ready)
	for i, m := range g.members {
		s.Private.add(m.private, &ready)
		s.StolenWithin += m.within.load()
		s.StolenAcross += m.across.load()
		s.Done += g.workers[i].tasksDone.load()
	}
	s.Wake, s.Ready = latencyOf(&wake), latencyOf(&ready)
	return s
}

// add adds the entries of one more queue, and how long they have waited.
func (s *QueueStats) add(q *runQueue, ready *histogram.Sum) {
	s.Length += q.waiting()
	s.Greatest = max(s.Greatest, int(q.longest.Load()))
	ready.Add(q.latency)
}

func latencyOf(s *histogram.Sum) Latency {
	return Latency{Count: s.Count(), Median: s.Quantile(0.5), P99: s.Quantile(0.99), Greatest: s.Longest()}
}
