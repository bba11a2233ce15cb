package bench

import (
	"errors"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// quiet is how long nothing runs before a wake-up: longer than an idle worker spins.
const quiet = 500 * time.Microsecond

// wake is the workload of a goroutine that wakes a task, after some quiet, on a worker that sleeps.
func wake() Workload {
	under := func(p sched.Policy) func() (Session, error) {
		return openWake(sched.Config{Name: "bench", Workers: 1, Backend: fiber.Backends()[0], Policy: p})
	}
	return Workload{
		Name: "wake", Title: "A task that waits, woken by a goroutine after 0.5 ms of quiet", Operation: "wake-up",
		Base: "goroutine", Sample: 100 * time.Microsecond,
		Rivals: []Mechanism{
			{Name: "goroutine", Says: "the one that wakes goes to sleep, and its thread runs the other", Open: openWakeGo},
			{Name: "stealing", Says: "a worker spins if that has paid lately, then sleeps", Open: under(sched.Stealing)},
			{Name: "roundrobin", Says: "the same, with one queue for all workers", Open: under(sched.RoundRobin)},
			{Name: "group", Says: "the same, with the queue of its group", Open: under(sched.Group)},
		},
		Notes: []string{
			"Of a processor that sleeps, the time until it runs again is part of a wake-up: on virtual machines most of it.",
		},
	}
}

// sleeper is what is woken: it says when it ran.
type sleeper struct {
	signal func()         // wakes it
	ran    chan time.Time // when it was awake
	end    func() error
}

func (s *sleeper) Run(n int) (Sample, error) {
	var all time.Duration
	n = max(1, n/64) // a wake-up is long, and few make a sample
	for range n {
		time.Sleep(quiet)
		start := time.Now()
		s.signal()
		all += (<-s.ran).Sub(start)
	}
	return Sample{n, all}, nil
}

func (s *sleeper) Close() error { return s.end() }

func openWakeGo() (Session, error) {
	signals, ran := make(chan struct{}), make(chan time.Time, 1)
	go func() {
		defer close(ran)
		for range signals {
			ran <- time.Now()
		}
	}()
	return &sleeper{func() { signals <- struct{}{} }, ran, func() error {
		close(signals)
		<-ran
		return nil
	}}, nil
}

func openWake(cfg sched.Config) func() (Session, error) {
	return func() (Session, error) {
		s, err := sched.New(cfg)
		if err != nil {
			return nil, err
		}
		signals, ran := fibersync.NewChannel[struct{}](1), make(chan time.Time, 1)
		err = s.Enqueue(sched.Task{Func: func() {
			for range signals.All() {
				ran <- time.Now()
			}
		}})
		end := func() error {
			signals.Close()
			return s.Close()
		}
		if err != nil {
			return nil, errors.Join(err, end())
		}
		return &sleeper{func() { signals.Send(struct{}{}) }, ran, end}, nil
	}
}
