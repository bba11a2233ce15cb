package forktest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

// Each form meets each backend, number of workers that there is and policy, in few configurations.
func TestEachFormMeetsEach(t *testing.T) {
	for _, name := range []string{"TestA", "TestB", "TestC", "TestD", "TestE"} {
		configs := suite.Over{Workers: Workers}.Configs(name)
		forms := formsOf(name, configs)
		met := make(map[any]bool)
		workers := make(map[int]bool)
		count := 0
		for _, cfg := range configs {
			workers[cfg.Workers] = true
			assert.NotEmpty(t, forms[suite.Name(cfg)], "%s of %s", suite.Name(cfg), name)
			for _, form := range forms[suite.Name(cfg)] {
				met[pair{form, cfg.Backend}], met[pair{form, cfg.Workers}], met[pair{form, cfg.Policy}] = true, true, true
				count++
			}
		}
		for _, form := range forkjoin.Forms() {
			for _, b := range fiber.Backends() {
				assert.True(t, met[pair{form, b}], "%v and %v never meet in %s", form, b, name)
			}
			assert.GreaterOrEqual(t, len(workers), 3, "none, one and several, in %s", name)
			for n := range workers {
				assert.True(t, met[pair{form, n}], "%v and %d workers never meet in %s", form, n, name)
			}
			for _, policy := range sched.Policies() {
				assert.True(t, met[pair{form, policy}], "%v and %v never meet in %s", form, policy, name)
			}
		}
		least := max(len(configs), len(forkjoin.Forms())*len(fiber.Backends()))
		assert.LessOrEqual(t, count, least*4/3, "in %s", name)
	}
}

// What is called from each is called three times, with a pool that can fork.
func TestFromEach(t *testing.T) {
	EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		calls := 0
		FromEach(t, s, p, func(p *forkjoin.Pool) {
			a, b := forkjoin.Join(p, func(*forkjoin.Pool) int { return 1 }, func(*forkjoin.Pool) int { return 2 })
			assert.Equal(t, 3, a+b)
			calls++
		})
		assert.Equal(t, 3, calls)
	})
}
