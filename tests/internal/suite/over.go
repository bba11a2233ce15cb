package suite

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/leaks"
)

// Over is what a suite runs over. What is left empty means all of it.
type Over struct {
	Backends []fiber.Backend
	Policies []sched.Policy
	Workers  []int                       // AnyWorkers, if empty
	Only     func(cfg sched.Config) bool // if not nil, only the configurations of which it says so
}

// Run calls test as sub-tests BACKEND/workers=N/POLICY, and checks that each leaves nothing behind. Each pair of a
// backend, a policy and a number of workers meets in one of them, but not each triple: a second policy costs no second
// round. The name of t alone decides which policy meets which pair, and whether workers keep their threads where they
// need not. So different tests try different triples, and each test tries the same ones every time. In short sizes, one
// number stands for all numbers of several workers; it depends on the name, too. Under -short, each backend, each
// policy and each number occurs at least once in a test, but not each pair: pairs meet over the tests of a suite.
//
// It is the one way by which the suites come to their configurations; EachConfig and EachScheduler are short
// forms of it.
func (o Over) Run(t *testing.T, test func(t *testing.T, cfg sched.Config)) {
	t.Helper()
	configs := o.Configs(t.Name())
	for len(configs) > 0 {
		b := configs[0].Backend
		n := slices.IndexFunc(configs, func(cfg sched.Config) bool { return cfg.Backend != b })
		if n < 0 {
			n = len(configs)
		}
		RunOn(t, []fiber.Backend{b}, func(t *testing.T, _ fiber.Backend) {
			for _, cfg := range configs[:n] {
				t.Run(underBackend(cfg), func(t *testing.T) {
					if GivesThreadsUp(cfg) {
						// to tests that make their scheduler themselves OnScheduler does not see
						leaks.GivesUp(cfg.Workers)
					}
					before := fiber.ReadStats()
					test(t, cfg)
					after := fiber.ReadStats()
					assert.Equal(t, before.Fibers, after.Fibers, "fibers that were not closed")
					assert.Equal(t, before.Roots, after.Roots, "roots that were not detached")
					assert.Nil(t, sched.Get(), "a scheduler that was not unbound")
				})
			}
		})
		configs = configs[n:]
	}
}

// Name is the name of the sub-test of that configuration.
func Name(cfg sched.Config) string { return cfg.Backend.String() + "/" + underBackend(cfg) }

func underBackend(cfg sched.Config) string {
	if cfg.KeepThreads {
		return fmt.Sprintf("workers=%d/%v/threads=kept", cfg.Workers, cfg.Policy)
	}
	return fmt.Sprintf("workers=%d/%v", cfg.Workers, cfg.Policy)
}

// All returns all configurations, each three of backend, workers and policy. Benchmarks go through them.
func (o Over) All() []sched.Config {
	o = o.filled()
	var configs []sched.Config
	for _, b := range o.Backends {
		for _, n := range o.Workers {
			for _, p := range o.Policies {
				if cfg := (sched.Config{Backend: b, Workers: n, Policy: p}); o.Only == nil || o.Only(cfg) {
					configs = append(configs, cfg)
				}
			}
		}
	}
	return configs
}

func (o Over) filled() Over {
	if o.Backends == nil {
		o.Backends = fiber.Backends()
	}
	if o.Policies == nil {
		o.Policies = sched.Policies()
	}
	if o.Workers == nil {
		o.Workers = AnyWorkers
	}
	return o
}

// Configs returns the configurations that a test of that name runs with, ordered by backend. Run goes through them;
// tests that start processes do so themselves.
func (o Over) Configs(name string) []sched.Config {
	o = o.filled()
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	config := func(c [3]int) sched.Config {
		return sched.Config{Backend: o.Backends[c[0]], Workers: o.Workers[c[1]], Policy: o.Policies[c[2]]}
	}
	turn := int(h.Sum32() >> 1)
	if small() {
		o.Workers = o.fewerWorkers(turn / len(o.Policies))
	}
	possible := func(c [3]int) bool { return o.Only == nil || o.Only(config(c)) }
	sizes, choose := [3]int{len(o.Backends), len(o.Workers), len(o.Policies)}, allPairs
	if testing.Short() {
		choose = allValues
	}
	chosen := choose(sizes, turn, possible)
	configs := make([]sched.Config, len(chosen))
	for i, c := range chosen {
		configs[i] = config(c)
		kept := configs[i]
		kept.KeepThreads = true
		if GivesThreadsUp(configs[i]) && (turn/2+i)%2 == 0 && (o.Only == nil || o.Only(kept)) {
			configs[i] = kept
		}
	}
	return configs
}

// fewerWorkers returns the numbers of workers without those that another one stands for. Of all above one which occur
// with the same backends and policies, one is left, which turn selects.
func (o Over) fewerWorkers(turn int) []int {
	alike := make(map[string][]int)
	for _, n := range o.Workers {
		var with strings.Builder
		for _, b := range o.Backends {
			for _, p := range o.Policies {
				fmt.Fprint(&with, o.Only == nil || o.Only(sched.Config{Backend: b, Workers: n, Policy: p}), " ")
			}
		}
		key := with.String()
		if n <= 1 {
			key = strconv.Itoa(n)
		}
		alike[key] = append(alike[key], n)
	}
	var left []int
	for _, numbers := range alike {
		left = append(left, numbers[turn%len(numbers)])
	}
	slices.Sort(left)
	return left
}

// Migrates reports whether fibers may migrate under p.
func Migrates(p sched.Policy) bool { return p != sched.Stealing }

// Stay reports whether fibers stay with the worker that has begun them under that configuration.
func Stay(cfg sched.Config) bool { return !Migrates(cfg.Policy) }

// HasThreads reports whether the workers of that configuration are locked to threads. On the goroutine backend they
// have none if fibers may migrate.
func HasThreads(cfg sched.Config) bool {
	return cfg.Backend != fiber.Goroutine || !Migrates(cfg.Policy)
}

// GivesThreadsUp reports whether the workers of that configuration give their threads up while they are idle. What else
// is set, such as Config.Affinity, may keep them from it; where fibers stay, so does a task that is blocked.
func GivesThreadsUp(cfg sched.Config) bool {
	return cfg.Backend != fiber.Goroutine && cfg.Workers > 0 && !cfg.KeepThreads
}

// allPairs chooses some of the possible triples (i, j, k) below sizes, in their order. Each two values of different
// places that can occur together do so in one of them. Of several such choices, turn selects one.
func allPairs(sizes [3]int, turn int, possible func([3]int) bool) [][3]int {
	return covering(threes(sizes, turn, possible), func(c [3]int) [3]part {
		return [3]part{{0, c[0], 1, c[1]}, {0, c[0], 2, c[2]}, {1, c[1], 2, c[2]}}
	})
}

// allValues is allPairs for single values: each that can occur does so in one of the threes.
func allValues(sizes [3]int, turn int, possible func([3]int) bool) [][3]int {
	all := threes(sizes, turn, possible)
	rand.New(rand.NewPCG(uint64(turn), 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return covering(all, func(c [3]int) [3]part {
		return [3]part{{0, c[0], 0, c[0]}, {1, c[1], 1, c[1]}, {2, c[2], 2, c[2]}}
	})
}

// part is what a three has: the values at two places, which may be the same one.
type part struct{ place, value, otherPlace, otherValue int }

// threes returns the possible threes, in an order that depends on turn.
func threes(sizes [3]int, turn int, possible func([3]int) bool) (all [][3]int) {
	for i := range sizes[0] {
		for j := range sizes[1] {
			for k := range sizes[2] {
				if c := [3]int{i, j, (k + turn) % sizes[2]}; possible(c) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// covering chooses some of all, the earlier ones rather than the later ones, so that each part of one of them is in one
// that is chosen.
func covering(all [][3]int, parts func([3]int) [3]part) (chosen [][3]int) {
	met := make(map[part]bool)
	for {
		// The next one has the most parts that none before it has.
		var best [3]int
		most := 0
		for _, c := range all {
			fresh := 0
			for _, p := range parts(c) {
				if !met[p] {
					fresh++
				}
			}
			if fresh > most {
				best, most = c, fresh
			}
		}
		if most == 0 {
			break
		}
		for _, p := range parts(best) {
			met[p] = true
		}
		chosen = append(chosen, best)
	}
	slices.SortFunc(chosen, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	return chosen
}
