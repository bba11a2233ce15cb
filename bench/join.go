package bench

import (
	"errors"
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// join is the workload of two empty functions, one of which is forked, and a join of both.
func join() Workload {
	return Workload{
		Name: "join", Title: "A fork and a join, with one worker: nothing is stolen", Operation: "fork",
		Base: "join",
		Rivals: []Mechanism{
			{Name: "join", Says: "the fork waits in the list of its owner, who runs it", Open: openJoins(forkjoin.Heartbeat)},
			{Name: "join-deque", Says: "forks are in a deque that others steal from", Open: openJoins(forkjoin.Deque)},
			{Name: "join-locked", Says: "a fork and a join take one lock", Open: openJoins(forkjoin.Locked)},
			{Name: "typed", Says: "the pool knows the function, and keeps its argument alone", Open: openTyped},
			{Name: "go", Says: "a goroutine is made, and waited for", Open: openLoop(goroutineForks)},
		},
	}
}

// inPool is openOnScheduler for a loop that runs in a pool.
func inPool(form forkjoin.Form, loop func(p *forkjoin.Pool, n int) time.Duration) (Session, error) {
	cfg := sched.Config{Backend: fiber.Backends()[0]}
	return openOnScheduler(cfg, func(s *sched.Scheduler, n int) (time.Duration, error) {
		pool, err := forkjoin.New(s, forkjoin.Config{Form: form})
		if err != nil {
			return 0, err
		}
		took, err := forkjoin.Submit(pool, func(p *forkjoin.Pool) (time.Duration, error) { return loop(p, n), nil }).Get()
		return took, errors.Join(err, pool.Close())
	})()
}

func openJoins(form forkjoin.Form) func() (Session, error) {
	nothing := func(*forkjoin.Pool) int { return 1 }
	return func() (Session, error) {
		return inPool(form, func(p *forkjoin.Pool, n int) time.Duration {
			start := time.Now()
			for range n {
				forkjoin.Join(p, nothing, nothing)
			}
			return time.Since(start)
		})
	}
}

func openTyped() (Session, error) {
	// An argument above 0 is a number of forks, each of a call with argument 0.
	forks := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) (sum int) {
		for range n {
			sum += s.Join(s.Fork(0))
		}
		return sum
	})
	return inPool(forkjoin.Heartbeat, func(p *forkjoin.Pool, n int) time.Duration {
		start := time.Now()
		forks.Call(p, n)
		return time.Since(start)
	})
}

func goroutineForks(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		var ended sync.WaitGroup
		ended.Add(1)
		go ended.Done()
		ended.Wait()
	}
	return time.Since(start), nil
}
