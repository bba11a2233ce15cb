package forkjoin_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// submitDeep submits a task that submits a task, and so on.
func submitDeep(p *forkjoin.Pool, depth int, bottom func() int) int {
	if depth == 0 {
		return bottom()
	}
	v, err := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return submitDeep(p, depth-1, bottom), nil }).
		Get()
	if err != nil {
		panic(err)
	}
	return v + 1
}

// joinDeep nests in the second half, which is a task.
func joinDeep(p *forkjoin.Pool, depth int, bottom func() int) int {
	if depth == 0 {
		return bottom()
	}
	a, b := forkjoin.Join(p,
		func(*forkjoin.Pool) int { return 1 },
		func(p *forkjoin.Pool) int { return joinDeep(p, depth-1, bottom) })
	return a + b
}

// typedDeep nests in the fork.
func typedDeep(p *forkjoin.Pool, depth int, bottom func() int) int {
	f := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], depth int) int {
		if depth == 0 {
			return bottom()
		}
		return 1 + s.Join(s.Fork(depth-1))
	})
	return f.Call(p, depth)
}

var deep = map[string]func(p *forkjoin.Pool, depth int, bottom func() int) int{
	"Submit": submitDeep, "Join": joinDeep, "Func": typedDeep,
}

func TestNestedToDepth10000(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		bottom := func() int { return 0 }
		for name, f := range deep {
			before := p.Stats().Stolen
			schedtest.Perform(t, s, func() { assert.Equal(t, 10000, f(p, 10000, bottom), name) })
			if name == "Submit" { // a stack takes 1000 tasks
				assert.GreaterOrEqual(t, p.Stats().Stolen-before, uint64(9), "stacks")
			}
		}
		outside(func() { assert.Equal(t, 10000, submitDeep(p, 10000, bottom), "on goroutines") })
	})
}

// A panic passes through all levels, and is not wrapped anew by each.
func TestPanicFromDepth(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for name, f := range deep {
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				err := panicOf(t, func() {
					f(p, suite.Scaled(1000, 100), func() int { crash.PanicWith(errDeliberate); return 0 })
				})
				require.ErrorIs(t, err, errDeliberate, name)
				wraps := 0
				for e := err; e != errDeliberate; wraps++ {
					switch u := e.(type) {
					case interface{ Unwrap() error }:
						e = u.Unwrap()
					case interface{ Unwrap() []error }:
						e = u.Unwrap()[0]
					}
				}
				assert.LessOrEqual(t, wraps, 3, "%s: errors around the panic's", name)
			})
		}
	})
}

// Each worker has a task that waits for its children, and theirs for theirs: the document's deadlock of a plain pool.
func TestEachWorkerWaits(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		n := max(1, s.Workers())
		var sum func(p *forkjoin.Pool, depth int) (int, error)
		sum = func(p *forkjoin.Pool, depth int) (int, error) {
			if depth == 0 {
				return 1, nil
			}
			children := make([]*forkjoin.Future[int], 3)
			for i := range children {
				children[i] = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return sum(p, depth-1) })
			}
			total := 0
			for _, c := range children {
				v, err := c.Get()
				if err != nil {
					return 0, err
				}
				total += v
			}
			return total, nil
		}
		parents := make([]*forkjoin.Future[int], n+1)
		for i := range parents {
			parents[i] = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return sum(p, 4) })
		}
		for _, f := range parents {
			v, err := f.Get()
			assert.NoError(t, err)
			assert.Equal(t, 81, v)
		}
	})
}

// A task that waits by a primitive of fibersync for what its children do: they are where others find them by then.
func TestWaitsByOtherPrimitives(t *testing.T) {
	ways := map[string]func() (wait, wake func()){
		"Event": func() (wait, wake func()) {
			e := fibersync.NewEvent(fibersync.AutoReset, false)
			return e.Wait, e.Signal
		},
		"WaitGroup": func() (wait, wake func()) {
			var wg fibersync.WaitGroup
			wg.Add(1)
			return wg.Wait, wg.Done
		},
		"Semaphore": func() (wait, wake func()) {
			sem := fibersync.NewSemaphore(1)
			sem.Acquire(1)
			return func() { sem.Acquire(1) }, func() { sem.Release(1) }
		},
		"Promise": func() (wait, wake func()) {
			var promise fibersync.Promise[int]
			return func() { _, _ = promise.Future().Get() }, func() { promise.Set(1) }
		},
		"Wait": func() (wait, wake func()) {
			l := schedtest.NewLatch(1)
			return l.Wait, l.Done
		},
		"Sleep": func() (wait, wake func()) {
			var woken atomic.Bool
			wait = func() {
				for !woken.Load() {
					sched.Sleep(10 * time.Microsecond)
				}
			}
			return wait, func() { woken.Store(true) }
		},
	}
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		for name, way := range ways {
			schedtest.Perform(t, s, func() {
				wait, wake := way()
				got := 0
				f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { wake(); return 1, nil })
				wait()
				v, _ := f.Get()
				got += v

				wait, wake = way()
				a, b := forkjoin.Join(p,
					func(*forkjoin.Pool) int { wait(); return 1 },
					func(*forkjoin.Pool) int { wake(); return 1 })
				got += a + b

				// Forks of several functions on one stack, some of which lie below others.
				wait, wake = way()
				typed := forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
					if n < 0 {
						return 1
					}
					t := s.Fork(-1)
					a, b := forkjoin.Join(
						s.Pool(), func(*forkjoin.Pool) int { wait(); return 1 }, func(*forkjoin.Pool) int { return 1 },
					)
					return a + b + s.Join(t)
				})
				a, b = forkjoin.Join(
					p, func(p *forkjoin.Pool) int { return typed.Call(p, 1) },
					func(*forkjoin.Pool) int { wake(); return 1 },
				)
				got += a + b
				assert.Equal(t, 7, got, name)
			})
		}
	})
}

// Two tasks hand a turn to one another.
func TestTasksWaitForOneAnother(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		play := func(p *forkjoin.Pool) {
			var ping, pong fibersync.Event
			a := func(*forkjoin.Pool) int {
				for range 100 {
					ping.Signal()
					pong.Wait()
				}
				return 1
			}
			b := func(*forkjoin.Pool) int {
				for range 100 {
					ping.Wait()
					pong.Signal()
				}
				return 1
			}
			x, y := forkjoin.Join(p, a, b)
			assert.Equal(t, 2, x+y)
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return a(p), nil })
			g := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return b(p), nil })
			_, _ = f.Get()
			_, _ = g.Get()
		}
		schedtest.Perform(t, s, func() { play(p) })
		_, _ = forkjoin.Submit(p, onFiber(func(p *forkjoin.Pool) (int, error) { play(p); return 0, nil }, s)).Get()
	})
}

// A task that may run on its worker alone uses a pool like others.
func TestSameThread(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		over := schedtest.NewLatch(4)
		schedtest.Schedule(t, s, func() {
			for range 4 {
				schedtest.ScheduleHere(t, s, func() {
					defer over.Done()
					w := sched.Current().Worker()
					assert.Equal(t, 55, fib(p, 10))
					assert.Equal(t, 100, submitDeep(p, 100, func() int { return 0 }))
					var e fibersync.Event
					f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { e.Signal(); return 0, nil })
					e.Wait()
					_, _ = f.Get()
					assert.Same(t, w, sched.Current().Worker())
				})
			}
		})
		over.Wait()
	})
}

// Several pools of all forms on one scheduler, whose tasks run inside one another on the same stacks.
func TestPoolsInsideOneAnother(t *testing.T) {
	suite.EachScheduler(t, forktest.Workers, func(t *testing.T, s *sched.Scheduler) {
		var pools []*forkjoin.Pool
		for _, form := range append(forkjoin.Forms(), forkjoin.Heartbeat) {
			p, err := forkjoin.New(s, forkjoin.Config{Form: form})
			require.NoError(t, err)
			defer func() { assert.NoError(t, p.Close()) }()
			pools = append(pools, p)
		}
		var run func(n, turn int) int
		run = func(n, turn int) int {
			if n < 2 {
				return n
			}
			p := pools[turn%len(pools)]
			if n%3 == 0 {
				f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return run(n-1, turn+1), nil })
				g := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { return run(n-2, turn+3), nil })
				a, _ := f.Get()
				b, _ := g.Get()
				return a + b
			}
			var e fibersync.Event
			a, b := forkjoin.Join(p,
				func(*forkjoin.Pool) int {
					v := run(n-1, turn+1)
					if sched.Current() != nil {
						e.Wait()
					}
					return v
				},
				func(*forkjoin.Pool) int { e.Signal(); return run(n-2, turn+2) })
			return a + b
		}
		for turn := range pools {
			assert.Equal(t, 144, run(12, turn))
			schedtest.Perform(t, s, func() { assert.Equal(t, 144, run(12, turn)) })
		}
	})
}

// Tasks of one scheduler, and goroutines, use the pool of another.
func TestPoolOfAnotherScheduler(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		other, err := sched.New(sched.Config{Workers: 2})
		require.NoError(t, err)
		defer func() { assert.NoError(t, other.Close()) }()
		over := schedtest.NewLatch(9)
		use := func() {
			defer over.Done()
			assert.Equal(t, 55, fib(p, 10))
			assert.Equal(t, 30, submitDeep(p, 30, func() int { return 0 }))
			assert.Equal(t, 30, typedDeep(p, 30, func() int { return 0 }))
			f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return fib(p, 10), nil })
			v, err := f.Get()
			assert.Equal(t, 55, v)
			assert.NoError(t, err)
		}
		for range 3 {
			schedtest.Schedule(t, other, use)
			schedtest.Schedule(t, s, use)
			go use()
		}
		over.Wait()
	})
}

// A scheduler with hardly any room for tasks.
func TestMaxQueued(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: forktest.Workers},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			cfg.MaxQueued = 1
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					over := schedtest.NewLatch(1)
					go func() { // competes for the room
						defer over.Done()
						for range min(50, 50*cfg.Workers) {
							schedtest.Schedule(t, s, yield)
						}
					}()
					futures := make([]*forkjoin.Future[int], 50)
					for i := range futures {
						futures[i] = forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { return fib(p, 8), nil })
					}
					for _, f := range futures {
						waitUntilReady(t, s, f)
						v, err := f.Get()
						assert.Equal(t, 21, v)
						assert.NoError(t, err)
					}
					over.Wait()
				},
			)
		},
	)
}

// The pool that a task gets works on other stacks too, and when the task has returned.
func TestPoolOfATaskElsewhere(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		use := func(p *forkjoin.Pool) {
			assert.Equal(t, 55, fib(p, 10))
			assert.Equal(t, 30, submitDeep(p, 30, func() int { return 0 }))
			assert.Equal(t, 30, typedDeep(p, 30, func() int { return 0 }))
		}
		view, err := forkjoin.Submit(p, func(view *forkjoin.Pool) (*forkjoin.Pool, error) {
			over := schedtest.NewLatch(2)
			go func() { defer over.Done(); use(view) }()
			schedtest.Schedule(t, s, func() { defer over.Done(); use(view) })
			use(view)
			over.Wait()
			return view, nil
		}).Get()
		assert.NoError(t, err)
		forktest.FromEach(t, s, p, func(*forkjoin.Pool) { use(view) })
	})
}

// A long computation forks, and others take what it forks: if not at once, then when it goes on forking.
// It never blocks.
func TestOthersTakeForks(t *testing.T) {
	workers := suite.Over{Workers: []int{2, 4, 8}}
	forktest.EachConfig(t, workers, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
			spin := func(taken *atomic.Bool) int {
				for !taken.Load() {
					fiber.Self()
				}
				return 1
			}
			takes := map[string]func(p *forkjoin.Pool){
				"Submit": func(p *forkjoin.Pool) {
					var taken atomic.Bool
					f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { taken.Store(true); return 1, nil })
					spin(&taken)
					_, _ = f.Get()
				},
				"Join": func(p *forkjoin.Pool) {
					var taken atomic.Bool
					forkjoin.Join(p,
						func(p *forkjoin.Pool) int {
							for form == forkjoin.Heartbeat && !taken.Load() {
								forkjoin.Join(
									p, func(*forkjoin.Pool) int { return 0 }, func(*forkjoin.Pool) int { return 0 },
								)
							}
							return spin(&taken)
						},
						func(*forkjoin.Pool) int { taken.Store(true); return 0 })
				},
				"Func": func(p *forkjoin.Pool) {
					var taken atomic.Bool
					forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
						if n == 1 {
							taken.Store(true)
							return 1
						}
						if n == 2 {
							return 1
						}
						ticket := s.Fork(1)
						for form == forkjoin.Heartbeat && !taken.Load() {
							s.Join(s.Fork(2))
						}
						return spin(&taken) + s.Join(ticket)
					}).Call(p, 0)
				},
			}
			for name, take := range takes {
				for range 3 {
					t.Log(name)
					schedtest.Perform(t, s, func() { take(p) }) // a new task
					var e fibersync.Event
					schedtest.Perform(t, s, func() { // one that has waited
						schedtest.Schedule(t, s, e.Signal)
						e.Wait()
						take(p)
					})
					f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { // a task of the pool
						take(p)
						g := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) { e.Signal(); return 1, nil })
						e.Wait()
						take(p)
						return g.Get()
					})
					waitUntilReady(t, s, f)
					_, _ = f.Get()
				}
			}
		})
	})
}

// A future makes all older forks of its stack known: its task may need them, and nothing sees its caller wait.
func TestSubmitOffersOlderForks(t *testing.T) {
	// The first half blocks a worker, so there is another.
	forktest.EachConfig(t, suite.Over{Workers: []int{2, 8}}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		forktest.OnPool(t, cfg, forkjoin.Config{Form: form}, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
			var e fibersync.Event
			a, b := forkjoin.Join(p,
				func(p *forkjoin.Pool) int {
					f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { e.Wait(); return 1, nil })
					<-f.Done()
					v, _ := f.Get()
					return v
				},
				func(*forkjoin.Pool) int { e.Signal(); return 1 })
			assert.Equal(t, 2, a+b)
		})
	})
}
