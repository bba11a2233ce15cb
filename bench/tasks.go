package bench

import (
	"errors"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// tasks is the workload of starting a task that does nothing.
func tasks() Workload {
	first := fiber.Backends()[0]
	w := Workload{
		Name: "tasks", Title: "An empty task: started, run by one worker, counted at its end", Operation: "task",
		Base: first.String(),
	}
	for _, b := range fiber.Backends() {
		w.Rivals = append(w.Rivals, Mechanism{
			Name: b.String(), Says: "a task that does not wait needs no switch", Open: openTasks(sched.Config{Backend: b}),
		})
	}
	for _, p := range sched.Policies()[1:] {
		w.Rivals = append(w.Rivals, Mechanism{
			Name: p.String(), Says: "this policy, on the first backend",
			Open: openTasks(sched.Config{Backend: first, Policy: p}),
		})
	}
	w.Rivals = append(w.Rivals, Mechanism{
		Name: "go", Says: "a goroutine each, on all processors", Open: openLoop(goroutineTasks),
	})
	return w
}

// mostTasks is how many tasks are started before all of them have to end.
const mostTasks = 1000

// onScheduler is the session of a loop that runs in a task.
type onScheduler struct {
	s    *sched.Scheduler
	loop func(s *sched.Scheduler, n int) (time.Duration, error)
}

// openOnScheduler makes a scheduler of one worker.
func openOnScheduler(
	cfg sched.Config, loop func(s *sched.Scheduler, n int) (time.Duration, error),
) func() (Session, error) {
	return func() (Session, error) {
		cfg.Name, cfg.Workers = "bench", 1
		s, err := sched.New(cfg)
		if err != nil {
			return nil, err
		}
		return &onScheduler{s, loop}, nil
	}
}

func (o *onScheduler) Run(n int) (sample Sample, err error) {
	failed := fibersync.On(o.s, func() {
		sample.Operations = n
		sample.Elapsed, err = o.loop(o.s, n)
	})
	return sample, errors.Join(failed, err)
}

func (o *onScheduler) Close() error { return o.s.Close() }

// inBatches times n starts, of which all of a batch end before the next one begins.
func inBatches(n int, ended interface {
	Add(int)
	Wait()
}, start func() error) (time.Duration, error) {
	begin := time.Now()
	for ; n > 0; n -= mostTasks {
		batch := min(n, mostTasks)
		ended.Add(batch)
		for range batch {
			if err := start(); err != nil {
				return 0, err
			}
		}
		ended.Wait()
	}
	return time.Since(begin), nil
}

func openTasks(cfg sched.Config) func() (Session, error) {
	return openOnScheduler(cfg, func(s *sched.Scheduler, n int) (time.Duration, error) {
		var ended fibersync.WaitGroup
		return inBatches(n, &ended, func() error { return s.Enqueue(sched.Task{Func: ended.Done}) })
	})
}

func goroutineTasks(n int) (time.Duration, error) {
	var ended sync.WaitGroup
	return inBatches(n, &ended, func() error {
		go ended.Done()
		return nil
	})
}
