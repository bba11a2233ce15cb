package sched_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"fiberlab/sched"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// handOffs is what a torture has brought to the workers of a group, and what they have done of it.
type handOffs struct {
	t        *testing.T
	s        *sched.Scheduler
	progress atomic.Uint64 // tasks done
}

// submit brings so many tasks, a few at a time. Every other time it waits until its own are done, and then for a
// moment, so that workers stop spinning, and go to sleep, just when the next task comes.
func (h *handOffs) submit(total int, r *rand.Rand) {
	var sent, done atomic.Int64
	task := func() {
		defer h.progress.Add(1)
		defer done.Add(1)
		if sent.Load()%8 == 0 {
			sched.Yield()
		}
	}
	inside := func() {
		schedtest.Schedule(h.t, h.s, task) // from a worker
		task()
	}
	for sent.Load() < int64(total) {
		for range 1 + r.IntN(16) {
			body, n := task, int64(1)
			if r.IntN(8) == 0 {
				body, n = inside, 2
			}
			sent.Add(n)
			schedtest.Schedule(h.t, h.s, body)
		}
		if r.IntN(2) == 0 {
			continue
		}
		for done.Load() < sent.Load() {
			runtime.Gosched()
			_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // a worker's thread may wait for this processor
		}
		for end := time.Now().Add(time.Duration(r.IntN(12_000))); time.Now().Before(end); {
		}
	}
}

// Tasks come from goroutines and from fibers while workers stop spinning, go to sleep, and are woken: everything that
// has been submitted runs. There are more workers than processors, up to a full group, and both modes.
func TestTortureSubmitAgainstSleep(t *testing.T) {
	over := suite.Over{Policies: []sched.Policy{sched.Group}, Workers: []int{2, 4, 64}}
	const submitters = 2
	// Shares of the whole. To wake one of 64 threads costs several times as much as one of a few. A hand-off to a
	// thread costs ten times as much as one to a goroutine.
	const large, small, goroutines = 12, 1, 10
	whole := suite.Scaled(400_000, 20_000)
	share := func(cfg sched.Config) int {
		n := large
		if cfg.Workers == 64 {
			n = small
		}
		if !suite.HasThreads(cfg) {
			n *= goroutines
		}
		return n
	}
	shares := 0
	for _, cfg := range over.Configs(t.Name()) {
		shares += share(cfg)
	}
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		total := whole / shares * share(cfg)
		random := suite.NewRand(t)
		for mode := range sched.AffinityMode + 1 {
			cfg.Groups.Mode = mode
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				h := &handOffs{t: t, s: s}
				state := func() string {
					return fmt.Sprintf("%v mode, %d tasks done: what was submitted next waits", mode, h.progress.Load())
				}
				schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &h.progress, State: state}, func() {
					var all sync.WaitGroup
					for range submitters {
						r := rand.New(rand.NewPCG(random.Uint64(), 0))
						all.Add(1)
						go func() {
							defer all.Done()
							h.submit(total/submitters/2, r)
						}()
					}
					all.Wait()
				})
				eventually(t, func() bool { return s.Stats().Pending == 0 }, nil, "tasks that were never begun")
			})
		}
	})
}

// Fibers of a full group wake one another in a circle, with nothing else to wake a worker: each wake-up counts. Some of
// the workers block their fibers, some sleep, and there are far fewer processors.
func TestTortureRingOn64Workers(t *testing.T) {
	suite.Over{Policies: []sched.Policy{sched.Group}, Workers: []int{64}}.Run(t, func(t *testing.T, cfg sched.Config) {
		for mode := range sched.AffinityMode + 1 {
			cfg.Groups.Mode = mode
			suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
				const fibers, tokens = 100, 3
				turns := suite.Scaled(100_000, 5_000)
				var progress atomic.Uint64
				state := func() string { return fmt.Sprint(mode, " mode, ", progress.Load(), " turns") }
				circle := make([]struct {
					mu     sync.Mutex
					fiber  *sched.Fiber
					tokens int
				}, fibers)
				var left atomic.Int64
				left.Store(int64(turns))
				begun, over := schedtest.NewLatch(fibers), schedtest.NewLatch(fibers)
				for i := range circle {
					schedtest.Schedule(t, s, func() {
						defer over.Done()
						mine, next := &circle[i], &circle[(i+1)%fibers]
						mine.fiber = sched.Current()
						begun.Done()
						begun.Wait()
						if i < tokens {
							mine.mu.Lock() // others have begun to hand tokens on
							mine.tokens++
							mine.mu.Unlock()
						}
						for {
							mine.mu.Lock()
							mine.fiber.Wait(&mine.mu, func() bool { return mine.tokens > 0 })
							if left.Load() > 0 {
								mine.tokens--
							}
							mine.mu.Unlock()
							progress.Add(1)
							ended := left.Add(-1) < 0
							next.mu.Lock()
							next.tokens++
							next.fiber.Notify()
							next.mu.Unlock()
							if ended {
								return
							}
						}
					})
				}
				schedtest.Watch(t, schedtest.Watched{Scheduler: s, Progress: &progress, State: state}, over.Wait)
				assert.GreaterOrEqual(t, progress.Load(), uint64(turns))
			})
		}
	})
}
