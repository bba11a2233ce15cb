// Package forktest makes pools for tests of package forkjoin.
package forktest

import (
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

// Workers are the numbers of workers that pools are tested with.
var Workers = []int{0, 1, 2, 8}

// EachPool calls test as sub-tests BACKEND/workers=N/POLICY/FORM, each with a new scheduler and a new pool on it, and
// checks that test leaves no live future, and nothing else, behind. Each two of the backends, numbers of workers,
// policies and forms meet in one of them; which threes meet depends on the name of t. Without workers the scheduler is
// bound to the test's goroutine.
func EachPool(t *testing.T, test func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool)) {
	t.Helper()
	EachConfig(t, suite.Over{Workers: Workers}, func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
		OnPool(t, cfg, forkjoin.Config{Form: form}, test)
	})
}

// EachConfig is suite.Over.Run for configurations with a form.
func EachConfig(t *testing.T, over suite.Over, test func(t *testing.T, cfg sched.Config, form forkjoin.Form)) {
	t.Helper()
	forms := formsOf(t.Name(), over.Configs(t.Name()))
	over.Run(t, func(t *testing.T, cfg sched.Config) {
		for _, form := range forms[suite.Name(cfg)] {
			t.Run(form.String(), func(t *testing.T) { test(t, cfg, form) })
		}
	})
}

// OnPool makes a scheduler and a pool on it, runs test, and closes both.
func OnPool(
	t *testing.T, cfg sched.Config, pool forkjoin.Config, test func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool),
) {
	t.Helper()
	suite.OnScheduler(t, cfg, func(t *testing.T, s *sched.Scheduler) {
		p, err := forkjoin.New(s, pool)
		require.NoError(t, err)
		defer func() { assert.NoError(t, p.Close()) }()
		test(t, s, p)
	})
}

// formsOf returns the forms that meet each of configs, by its name. There is one each, and more where a form would not
// meet each backend, each number of workers and each policy.
func formsOf(name string, configs []sched.Config) map[string][]forkjoin.Form {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	forms := forkjoin.Forms()
	turn := int(h.Sum32() >> 1)
	met := make(map[any]bool)
	chosen := make(map[string][]forkjoin.Form)
	take := func(cfg sched.Config, form forkjoin.Form, least int) bool {
		pairs := []any{pair{form, cfg.Backend}, pair{form, cfg.Workers}, pair{form, cfg.Policy}}
		fresh := 0
		for _, p := range pairs {
			if !met[p] {
				fresh++
			}
		}
		if fresh < least {
			return false
		}
		for _, p := range pairs {
			met[p] = true
		}
		chosen[suite.Name(cfg)] = append(chosen[suite.Name(cfg)], form)
		return true
	}
	for _, cfg := range configs {
		for least := 3; len(chosen[suite.Name(cfg)]) == 0; least-- {
			for i := range forms {
				if take(cfg, forms[(turn+i)%len(forms)], least) {
					turn++
					break
				}
			}
		}
	}
	for _, cfg := range configs {
		for _, form := range forms {
			take(cfg, form, 1)
		}
	}
	return chosen
}

// pair is a form and what it meets.
type pair struct {
	form forkjoin.Form
	with any
}

// FromEach calls f from the goroutine of the test, then from a task of s, then from a task of p, with the pool as each
// sees it.
func FromEach(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool, f func(p *forkjoin.Pool)) {
	t.Helper()
	f(p)
	schedtest.Perform(t, s, func() { f(p) })
	_, err := forkjoin.Submit(p, func(p *forkjoin.Pool) (struct{}, error) {
		f(p)
		return struct{}{}, nil
	}).Get()
	assert.NoError(t, err)
}
