package bench

import (
	"sync"
	"time"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// handover is the workload of two tasks, or goroutines, that let each other go on by a condition or a channel.
func handover() Workload {
	first := fiber.Backends()[0]
	w := Workload{
		Name: "sync", Title: "Two tasks of one worker that let each other go on", Operation: "hand-over",
		Base: "cond-" + first.String(),
	}
	for _, b := range fiber.Backends() {
		w.Rivals = append(w.Rivals, Mechanism{
			Name: "cond-" + b.String(), Says: "a signal makes the other ready, a wait switches to it",
			Open: openCond(sched.Config{Backend: b}),
		})
	}
	w.Rivals = append(w.Rivals, []Mechanism{
		{Name: "cond-go", Says: "sync.Cond, between goroutines", Open: openLoop(goConds)},
		{
			Name: "channel-" + first.String(), Says: "an unbuffered channel of fibersync",
			Open: openChannels(sched.Config{Backend: first}),
		},
		{Name: "channel-go", Says: "an unbuffered channel of Go, between goroutines", Open: openLoop(goChannels)},
	}...)
	return w
}

// condition is what package sync and package fibersync have.
type condition interface {
	Wait()
	Signal()
}

// alternate waits for its turn and gives it to the other side, n times.
func alternate(mu sync.Locker, c condition, turn *int, me, n int) {
	mu.Lock()
	defer mu.Unlock()
	for range n {
		for *turn != me {
			c.Wait()
		}
		*turn = 1 - me
		c.Signal()
	}
}

// alternations times two sides that alternate, the second one started by start.
func alternations(mu sync.Locker, c condition, n int, start func(func()) error) (time.Duration, error) {
	turn := 0
	if err := start(func() { alternate(mu, c, &turn, 1, trips(n)) }); err != nil {
		return 0, err
	}
	begin := time.Now()
	alternate(mu, c, &turn, 0, trips(n))
	// The last turn of the other side.
	mu.Lock()
	for turn != 0 {
		c.Wait()
	}
	mu.Unlock()
	return time.Since(begin), nil
}

func openCond(cfg sched.Config) func() (Session, error) {
	return openOnScheduler(cfg, func(_ *sched.Scheduler, n int) (time.Duration, error) {
		var mu fibersync.Mutex
		return alternations(&mu, fibersync.NewCond(&mu), n, func(f func()) error { return sched.Schedule(f) })
	})
}

func goConds(n int) (time.Duration, error) {
	var mu sync.Mutex
	return alternations(&mu, sync.NewCond(&mu), n, func(f func()) error {
		go f()
		return nil
	})
}

func openChannels(cfg sched.Config) func() (Session, error) {
	return openOnScheduler(cfg, func(_ *sched.Scheduler, n int) (time.Duration, error) {
		there, back := fibersync.NewChannel[int](0), fibersync.NewChannel[int](0)
		err := sched.Schedule(func() {
			for range trips(n) {
				there.Receive()
				back.Send(0)
			}
		})
		start := time.Now()
		for range trips(n) {
			if err != nil {
				return 0, err
			}
			there.Send(0)
			back.Receive()
		}
		return time.Since(start), nil
	})
}
