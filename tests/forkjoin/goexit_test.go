package forkjoin_test

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/crash"
	"fiberlab/tests/internal/leaks"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// exits have a task that calls Goexit, which on a fiber ends the program.
var exits = map[string]func(p *forkjoin.Pool){
	"a future in the place of its Get": func(p *forkjoin.Pool) {
		_, _ = forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { runtime.Goexit(); return 0, nil }).Get()
	},
	"a future on a drainer": func(p *forkjoin.Pool) {
		f := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { runtime.Goexit(); return 0, nil })
		outside(func() { <-f.Done() })
		new(fibersync.Event).Wait() // for ever
	},
	"the first half of a Join": func(p *forkjoin.Pool) {
		forkjoin.Join(p, func(*forkjoin.Pool) int { runtime.Goexit(); return 0 }, func(*forkjoin.Pool) int { return 0 })
	},
	"the second half of a Join": func(p *forkjoin.Pool) {
		forkjoin.Join(p, func(*forkjoin.Pool) int { return 0 }, func(*forkjoin.Pool) int { runtime.Goexit(); return 0 })
	},
	"a Func": func(p *forkjoin.Pool) {
		forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
			if n == 0 {
				runtime.Goexit()
			}
			return s.Join(s.Fork(n - 1))
		}).Call(p, 3)
	},
}

var childExits = newChildExits()

// newChildExits registers a child for each of exits and each form.
func newChildExits() (names []string) {
	for what, exit := range exits {
		for _, form := range forkjoin.Forms() {
			name := fmt.Sprintf("Goexit in %s, %v", what, form)
			names = append(names, crash.NewTask(name, func() {
				p, err := forkjoin.New(sched.Get(), forkjoin.Config{Form: form})
				if err != nil {
					os.Exit(1)
				}
				defer func() {
					fmt.Println("recovered", recover())
				}()
				exit(p)
				fmt.Println("returned")
				os.Exit(1)
			}))
		}
	}
	return names
}

// Goexit in a task on a fiber ends the program, which says why. No deferred function can recover from it.
func TestGoexitOnAFiber(t *testing.T) {
	configs := (suite.Over{Workers: []int{0, 2}}).Configs(t.Name())
	for i, name := range childExits {
		cfg := configs[i%len(configs)]
		t.Run(name+"/"+suite.Name(cfg), func(t *testing.T) {
			t.Parallel()
			out := crash.RunTask(t, name, cfg)
			assert.Contains(t, out, "runtime.Goexit")
			assert.NotContains(t, out, "returned")
			assert.Contains(t, out, "goexit_test.go")
		})
	}
}

// On a goroutine Goexit ends the task alone: its future has an error, and a caller that asks for it goes on.
func TestGoexitOnAGoroutine(t *testing.T) {
	onGoroutines(t, func(t *testing.T, p *forkjoin.Pool) {
		f := forkjoin.Submit(p, func(p *forkjoin.Pool) (int, error) {
			g := forkjoin.Submit(p, func(*forkjoin.Pool) (int, error) { runtime.Goexit(); return 0, nil })
			_, err := g.Get()
			assert.ErrorIs(t, err, fibersync.ErrGoexit)
			a, b := forkjoin.Join(p, func(p *forkjoin.Pool) int { return 1 }, func(*forkjoin.Pool) int { return 2 })
			assert.Equal(t, 3, a+b)
			runtime.Goexit()
			return 1, nil
		})
		_, err := f.Get()
		assert.ErrorIs(t, err, fibersync.ErrGoexit)
		assert.Equal(t, fibersync.Completed, f.Status())
		assert.Equal(t, 55, fib(p, 10))
	})
}

// Where there are no workers, a goroutine runs what it forks itself. Goexit ends it; if another goroutine has run the
// fork, it panics.
func TestGoexitWithoutWorkers(t *testing.T) {
	onGoroutines(t, func(t *testing.T, p *forkjoin.Pool) {
		leaves := func(f func()) {
			left := make(chan struct{})
			go func() {
				defer close(left)
				defer func() {
					if value := recover(); value != nil {
						assert.ErrorIs(t, value.(error), fibersync.ErrGoexit)
					}
				}()
				f()
				t.Error("the caller of what calls Goexit goes on")
			}()
			<-left
		}
		leaves(func() {
			forkjoin.Join(
				p, func(*forkjoin.Pool) int { runtime.Goexit(); return 0 }, func(*forkjoin.Pool) int { return 0 },
			)
		})
		leaves(func() {
			forkjoin.Join(
				p, func(*forkjoin.Pool) int { return 0 }, func(*forkjoin.Pool) int { runtime.Goexit(); return 0 },
			)
		})
		leaves(func() {
			forkjoin.NewFunc(func(s *forkjoin.Strand[int, int], n int) int {
				if n == 0 {
					runtime.Goexit()
				}
				s.Fork(5)
				return s.Join(s.Fork(n - 1))
			}).Call(p, 3)
		})
		assert.Equal(t, 55, fib(p, 10))
	})
}

// Goexit in a task that InScope runs itself ends the goroutine after the tasks that have begun.
func TestGoexitInAScope(t *testing.T) {
	onGoroutines(t, func(t *testing.T, p *forkjoin.Pool) {
		for range 20 {
			var running atomic.Int64
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer func() {
					if value := recover(); value != nil { // another goroutine has run the task
						assert.ErrorIs(t, value.(error), fibersync.ErrGoexit)
					}
				}()
				forkjoin.InScope(p, func(_ *forkjoin.Pool, s *forkjoin.Scope) {
					begun := make(chan struct{})
					s.Fork(func(*forkjoin.Pool) {
						running.Add(1)
						defer running.Add(-1)
						close(begun)
						time.Sleep(time.Millisecond)
					})
					<-begun
					s.Fork(func(*forkjoin.Pool) { runtime.Goexit() })
				})
			}()
			<-ended
			assert.Zero(t, running.Load(), "tasks that were not waited for")
		}
	})
}

// onGoroutines calls test with pools of each form on a scheduler that has no workers,
// and to which no goroutine is bound.
func onGoroutines(t *testing.T, test func(t *testing.T, p *forkjoin.Pool)) {
	for _, form := range forkjoin.Forms() {
		t.Run(form.String(), func(t *testing.T) {
			leaks.Check(t)
			s, err := sched.New(sched.Config{})
			require.NoError(t, err)
			p, err := forkjoin.New(s, forkjoin.Config{Form: form})
			require.NoError(t, err)
			test(t, p)
			assert.NoError(t, p.Close())
			assert.NoError(t, s.Close())
		})
	}
}

// holdWorkers occupies all workers until the returned function is called.
func holdWorkers(t *testing.T, s *sched.Scheduler) (release func()) {
	goOn, over := make(chan struct{}), schedtest.NewLatch(1)
	began := schedtest.NewLatch(s.Workers())
	go func() {
		defer over.Done()
		schedtest.HoldWorkers(t, s, s.Workers(), func(int) { began.Done(); <-goOn })
	}()
	began.Wait()
	return func() { close(goOn); over.Wait() }
}
