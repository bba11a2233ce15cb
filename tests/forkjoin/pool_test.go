package forkjoin_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/suite"
)

// Numbers of workers. Without workers the test's own goroutine is bound, and runs the tasks while it waits.
var (
	anyWorkers     = []int{0, 1, 2, 4, 8}
	severalWorkers = []int{2, 4, 8}
)

// eachForm runs test over backends, policies, these numbers of workers, and forms: each two of them meet in a sub-test, not each
// three. It checks that each leaves nothing behind.
func eachForm(t *testing.T, workers []int, test func(t *testing.T, cfg sched.Config, form forkjoin.Form)) {
	t.Helper()
	over := suite.Over{Workers: workers}
	forms := formsOf(over.Configs(t.Name()))
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		for _, form := range forms[suite.Name(cfg)] {
			t.Run(form.String(), func(t *testing.T) { test(t, cfg, form) })
		}
	})
}

// formsOf chooses forms for each configuration, by its name, so that each form meets each backend, policy and number of workers.
func formsOf(configs []sched.Config) map[string][]forkjoin.Form {
	met := make(map[[2]any]bool)
	fresh := func(cfg sched.Config, form forkjoin.Form, meet bool) (n int) {
		for _, value := range []any{cfg.Backend, cfg.Policy, cfg.Workers} {
			if pair := [2]any{form, value}; !met[pair] {
				n++
				met[pair] = meet
			}
		}
		return n
	}
	forms := make(map[string][]forkjoin.Form)
	for least := range 2 { // at first one form for each, then what has not met yet
		for i, cfg := range configs {
			best, most := forkjoin.Form(0), least-1
			for j := range forkjoin.Forms() {
				form := forkjoin.Forms()[(i+j)%len(forkjoin.Forms())]
				if n := fresh(cfg, form, false); n > most {
					best, most = form, n
				}
			}
			if most >= least {
				fresh(cfg, best, true)
				forms[suite.Name(cfg)] = append(forms[suite.Name(cfg)], best)
			}
		}
	}
	return forms
}

// eachPool is eachForm with a scheduler and a pool of its form. It closes both, and checks that no future is left live.
func eachPool(t *testing.T, workers []int, test func(t *testing.T, p *forkjoin.Pool, s *sched.Scheduler)) {
	t.Helper()
	eachForm(t, workers, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
			onPool(t, s, forkjoin.Config{Form: form}, func(p *forkjoin.Pool) { test(t, p, s) })
		})
	})
}

// onPool makes a pool, runs test, and closes the pool.
func onPool(t *testing.T, s *sched.Scheduler, cfg forkjoin.Config, test func(p *forkjoin.Pool)) {
	t.Helper()
	p, err := forkjoin.New(s, cfg)
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, p.Close())
		assert.Zero(t, p.Stats().Live)
	}()
	test(p)
}

// fib computes a Fibonacci number with a fork in each call.
func fib(p *forkjoin.Pool, n int) int {
	if n < 2 {
		return n
	}
	a, b := forkjoin.Join(p,
		func(p *forkjoin.Pool) int { return fib(p, n-1) },
		func(p *forkjoin.Pool) int { return fib(p, n-2) })
	return a + b
}

func TestJoin(t *testing.T) {
	eachPool(t, anyWorkers, func(t *testing.T, p *forkjoin.Pool, s *sched.Scheduler) {
		assert.Equal(t, 610, fib(p, 15))
	})
}
