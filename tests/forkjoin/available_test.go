package forkjoin_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// overSeveral is for tests in which a task holds its worker while another worker has nothing to do.
var overSeveral = suite.Over{Workers: []int{2, 4}}

// until calls pause until done returns true. It reports an error, and returns, if that takes too long.
func until(t *testing.T, what string, done func() bool, pause func()) {
	for limit := time.Now().Add(time.Minute); !done(); pause() {
		if time.Now().After(limit) {
			t.Errorf("%s has not happened within a minute", what)
			return
		}
	}
}

// heldBy are ways in which a first half holds its worker, or lets go of it, while it waits.
var heldBy = map[string]func(){
	"computes":   func() {},
	"Yield":      sched.Yield,
	"Gosched":    runtime.Gosched,
	"time.Sleep": func() { time.Sleep(50 * time.Microsecond) },
	"Sleep":      func() { sched.Sleep(50 * time.Microsecond) },
}

// A fork is available to an idle worker as soon as it is made. So the first half, which begins at once, may wait for
// the second half, by any means, and forks nothing more.
func TestSecondHalfBeginsWhileFirstWaits(t *testing.T) {
	forktest.EachConfig(t, overSeveral, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			for name, pause := range heldBy {
				schedtest.Perform(t, s, func() {
					var begun atomic.Bool
					wait := func(*forkjoin.Pool) int { until(t, "the second half, "+name, begun.Load, pause); return 0 }
					begin := func(*forkjoin.Pool) int { begun.Store(true); return 0 }
					forkjoin.Join(p, wait, begin)

					begun.Store(false) // a fork that is not the oldest one
					forkjoin.Join(p, func(p *forkjoin.Pool) int { forkjoin.Join(p, wait, begin); return 0 }, nothing)

					begun.Store(false)
					forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
						switch n {
						case 0:
							outer := s.Fork(2)
							inner := s.Fork(1)
							wait(nil)
							s.Join(inner)
							s.Join(outer)
						case 1:
							begin(nil)
						}
						return 0
					}).Call(p, 0)
				})
			}
		})
	})
}

// The same, when the worker gets nothing to do only after the fork was made.
func TestSecondHalfBeginsWhenAWorkerIsDone(t *testing.T) {
	forktest.EachConfig(t, overSeveral, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			for range suite.Scaled(100, 10) {
				var met, forked, begun atomic.Bool
				over := schedtest.NewLatch(2)
				// a task of the pool, which holds its worker until the fork has been made
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					forkjoin.Join(p, func(*forkjoin.Pool) int {
						met.Store(true)
						until(t, "the fork", forked.Load, func() {})
						return 0
					}, nothing)
				})
				until(t, "the first task", met.Load, func() { time.Sleep(50 * time.Microsecond) })
				schedtest.Schedule(t, s, func() {
					defer over.Done()
					forkjoin.Join(p, func(*forkjoin.Pool) int {
						forked.Store(true)
						until(t, "the second half", begun.Load, func() {})
						return 0
					}, func(*forkjoin.Pool) int { begun.Store(true); return 0 })
				})
				over.Wait()
			}
		})
	})
}

// Flat forks, of which each holds its worker until it has met another one: so two of them must run at any time.
func TestFlatForksMeet(t *testing.T) {
	const forks = 64
	forktest.EachConfig(t, suite.Over{Workers: []int{2}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			meet := make(chan int)
			var met atomic.Int32
			one := func() {
				select {
				case meet <- 0:
				case <-meet:
				case <-time.After(time.Minute):
					t.Error("a fork runs alone")
				}
				met.Add(1)
			}
			for name, all := range map[string]func(p *forkjoin.Pool){
				"Func": func(p *forkjoin.Pool) {
					forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
						if n > 0 {
							one()
							return 0
						}
						var tickets []forkjoin.Ticket
						for i := range forks {
							tickets = append(tickets, s.Fork(i+1))
						}
						for i := range tickets {
							s.Join(tickets[forks-1-i])
						}
						return 0
					}).Call(p, 0)
				},
				"Submit": func(p *forkjoin.Pool) {
					var futures []*forkjoin.Future[int]
					for range forks {
						futures = append(futures, forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { one(); return 0, nil }))
					}
					for _, f := range futures {
						_, err := f.Get()
						assert.NoError(t, err)
					}
				},
				"For": func(p *forkjoin.Pool) {
					forkjoin.For(p, forkjoin.Range{End: forks, Grain: 1}, func(*forkjoin.Pool, int, int) { one() })
				},
			} {
				met.Store(0)
				schedtest.Perform(t, s, func() { all(p) })
				assert.EqualValues(t, forks, met.Load(), name)
			}
		})
	})
}

// A plain task begins, and a Get whose result is there returns, though the pool always has more to do. It has jobs that
// submit jobs, an endless tree of forks, or an endless loop.
func TestPoolGivesItsWorkersBack(t *testing.T) {
	forktest.EachConfig(t, suite.Over{Workers: []int{1, 2}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			for name, work := range map[string]func(p *forkjoin.Pool, over func() bool){
				"jobs": func(p *forkjoin.Pool, over func() bool) {
					var more func(p *forkjoin.Pool, left *atomic.Int32)
					more = func(p *forkjoin.Pool, left *atomic.Int32) {
						left.Add(1)
						f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
							if !over() {
								more(p, left)
							}
							return 0, nil
						})
						go func() {
							defer left.Add(-1)
							<-f.Done()
							f.Drop()
						}()
					}
					var left atomic.Int32
					for range 4 {
						more(p, &left)
					}
					until(t, "the end of the jobs", func() bool { return left.Load() == 0 }, func() { sched.Sleep(time.Millisecond) })
				},
				"forks": func(p *forkjoin.Pool, over func() bool) {
					forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], depth int) int {
						if depth == 0 || over() {
							return 0
						}
						t := s.Fork(depth - 1)
						s.Join(s.Fork(depth - 1))
						s.Join(t)
						return 0
					}).Call(p, 60)
				},
				"Join": func(p *forkjoin.Pool, over func() bool) {
					var tree func(p *forkjoin.Pool, depth int) int
					tree = func(p *forkjoin.Pool, depth int) int {
						if depth > 0 && !over() {
							half := func(p *forkjoin.Pool) int { return tree(p, depth-1) }
							forkjoin.Join(p, half, half)
						}
						return 0
					}
					tree(p, 60)
				},
				"For": func(p *forkjoin.Pool, over func() bool) {
					forkjoin.For(p, forkjoin.Range{End: 1 << 44}, func(_ *forkjoin.Pool, begin, end int) {
						for i := begin; i < end && !over(); i++ {
						}
					})
				},
			} {
				t.Run(name, func(t *testing.T) {
					var begun, got atomic.Bool
					limit := time.Now().Add(time.Minute)
					over := func() bool { return begun.Load() && got.Load() || time.Now().After(limit) }
					ended := schedtest.NewLatch(s.Workers() + 2)
					for range s.Workers() {
						schedtest.Schedule(t, s, func() { defer ended.Done(); work(p, over) })
					}
					schedtest.Schedule(t, s, func() {
						defer ended.Done()
						h := newHeld()
						f := forkjoin.Submit(p, h.task)
						go func() { h.begun.Wait(); h.goOn.Signal() }()
						_, err := f.Get()
						assert.NoError(t, err)
						got.Store(true)
					})
					schedtest.Schedule(t, s, func() { defer ended.Done(); begun.Store(true) })
					ended.Wait()
					assert.True(t, begun.Load(), "a plain task has not begun")
					assert.True(t, got.Load(), "Get has not returned")
				})
			}
		})
	})
}

// After many short forks come long ones: a plain task waits for few of these, whenever the first of them comes.
func TestForksThatBecomeLongGiveTheWorkerBack(t *testing.T) {
	forktest.EachConfig(t, suite.Over{Workers: []int{1}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			for short := 0; short <= 2500; short += suite.Scaled(100, 500) {
				long := 0
				var begun atomic.Bool
				fork := func(i int) {
					if i < short || begun.Load() {
						return
					}
					if long++; long == 1 {
						schedtest.Schedule(t, s, func() { begun.Store(true) })
					}
					for began := time.Now(); time.Since(began) < 50*time.Microsecond; {
					}
				}
				schedtest.Perform(t, s, func() {
					forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], i int) int {
						if i >= 0 {
							fork(i)
							return 0
						}
						for i := range short + 2000 {
							s.Join(s.Fork(i))
						}
						return 0
					}).Call(p, -1)
				})
				assert.LessOrEqual(t, long, 140, "long forks before the plain task, after %d short ones", short)
			}
		})
	})
}

// A job does not wait for a plain task of one group while the worker of another group has nothing to do.
func TestJobGoesToTheIdleGroup(t *testing.T) {
	for _, form := range forkjoin.Forms() {
		t.Run(form.String(), func(t *testing.T) {
			cfg := sched.Config{Workers: 2, Policy: sched.Group, Groups: sched.Groups{Size: 1}}
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					for group := range s.Groups() {
						begun, goOn, ended := make(chan int, 1), make(chan struct{}), schedtest.NewLatch(1)
						require.NoError(t, s.EnqueueInGroup(group, sched.Task{Func: func() {
							defer ended.Done()
							begun <- sched.Current().Worker().Group() // an idle group may have stolen the task
							<-goOn                                    // with its worker
						}}))
						held := <-begun
						f := forkjoin.Submit(
							p, func(*forkjoin.Pool) (int, error) { return sched.Current().Worker().Group(), nil },
						)
						select {
						case <-f.Done():
						case <-time.After(time.Minute):
							t.Errorf("a job waits for the plain task of group %d", held)
						}
						close(goOn)
						ended.Wait()
						by, err := f.Get()
						assert.NoError(t, err)
						assert.NotEqual(t, held, by)
					}
				},
			)
		})
	}
}

// Many forks need few drainers, one of which begins each 100 microseconds on each worker at most, and few fibers.
func TestFewDrainers(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: []int{1, 2, 4}},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					began := time.Now()
					for range 5 {
						schedtest.Perform(t, s, func() { assert.Equal(t, 6765, fib(p, 20)) })
					}
					most := 100 + 2*s.Workers()*int(time.Since(began)/(100*time.Microsecond))
					assert.LessOrEqual(t, p.Stats().Drainers, uint64(most), "drainers")
					assert.LessOrEqual(t, s.Stats().Fibers, 100, "fibers")
				},
			)
		},
	)
}

// The last integers of a loop may take longer than those before.
// So no part is larger than a fourth of a worker's share.
func TestPartsOfALoopAreSmall(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
			for _, n := range []int{1, 3, 100, 400, 100_000} {
				var most atomic.Int64
				forkjoin.For(p, forkjoin.Range{End: n}, func(_ *forkjoin.Pool, begin, end int) {
					for size, m := int64(end-begin), most.Load(); size > m && !most.CompareAndSwap(m, size); m = most.Load() {
					}
				})
				assert.LessOrEqual(t, most.Load(), int64(max(1, n/(4*max(1, s.Workers())))), "%d integers", n)
			}
		})
	})
}
