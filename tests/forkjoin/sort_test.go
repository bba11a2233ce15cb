package forkjoin_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
	"fiberlab/tests/internal/forktest"
	"fiberlab/tests/internal/suite"
)

// card has a key to sort by, and the place where it lay before.
type card struct {
	key   int
	place int
	name  string
}

func byKey(a, b card) int { return cmp.Compare(a.key, b.key) }

// cards returns n cards in an order of one of some kinds.
func cards(random *rand.Rand, n int) []card {
	kind, keys := random.IntN(5), 1+random.IntN(2*n+1)
	list := make([]card, n)
	for i := range list {
		key := i
		switch kind {
		case 1:
			key = n - i
		case 2:
			key = i / 100 % 7
		case 3, 4:
			key = random.IntN(keys)
		}
		list[i] = card{key, i, strconv.Itoa(i)}
	}
	return list
}

// sortSizes returns lengths below, at and above those by which SortFunc decides.
func sortSizes(random *rand.Rand) []int {
	if suite.Slow() {
		return []int{0, 1, 2, 13, random.IntN(4096), 9000}
	}
	return []int{0, 1, 2, 3, 12, 13, 25, 4096, 4097, 8193, 9000, random.IntN(3000), random.IntN(12000)}
}

// sorting are the functions that sort.
var sorting = []struct {
	name    string
	stable  bool
	call    func(p *forkjoin.Pool, s []card, cmp func(a, b card) int)
	context func(ctx context.Context, p *forkjoin.Pool, s []card, cmp func(a, b card) int) error
}{
	{"SortFunc", false, forkjoin.SortFunc[[]card], forkjoin.SortFuncContext[[]card]},
	{"SortStableFunc", true, forkjoin.SortStableFunc[[]card], forkjoin.SortStableFuncContext[[]card]},
}

func TestSorts(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for _, n := range sortSizes(random) {
			list := cards(random, n)
			want := slices.Clone(list)
			slices.SortStableFunc(want, byKey)
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				for _, by := range sorting {
					got := slices.Clone(list)
					by.call(p, got, byKey)
					if by.stable {
						assert.True(t, slices.Equal(want, got), "%s of %d cards", by.name, n)
					} else {
						assert.True(t, slices.IsSortedFunc(got, byKey), "%s of %d cards", by.name, n)
						requireSame(t, got)
					}
				}
			})
		}
	})
}

// requireSame checks that got has the same elements as cards returned, in any order.
func requireSame(t *testing.T, got []card) {
	t.Helper()
	seen := make([]bool, len(got))
	for i, c := range got {
		if !assert.False(
			t, seen[c.place], "of %d cards, number %d is there twice, the second time at %d", len(got), c.place, i,
		) {
			return
		}
		seen[c.place] = true
		assert.Equal(t, strconv.Itoa(c.place), c.name)
	}
}

// A comparison that contradicts itself cannot make elements vanish, nor the program end.
func TestSortByNoOrder(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for name, cmp := range map[string]func(a, b card) int{
			"random":  func(_, _ card) int { return rand.IntN(3) - 1 },
			"less":    func(_, _ card) int { return -1 },
			"greater": func(_, _ card) int { return 1 },
			"circle":  func(a, b card) int { return (b.key-a.key+3)%3 - 1 },
		} {
			for _, n := range []int{13, 5000, suite.Scaled(10000, 5000)} {
				by := sorting[random.IntN(2)]
				list := cards(random, n)
				by.call(p, list, cmp)
				requireSame(t, list)
				if t.Failed() {
					t.Logf("%s, %s, %d cards", by.name, name, n)
					return
				}
			}
		}
	})
}

// A panic of the comparison, at any moment, comes to the caller, and all elements are there.
func TestSortSurvivesPanics(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for _, n := range []int{5, 13, suite.Scaled(10000, 5000)} {
			for range 1 + 20/n {
				by := sorting[random.IntN(2)]
				list := cards(random, n)
				var total atomic.Int64
				by.call(p, slices.Clone(list), func(a, b card) int {
					total.Add(1)
					return byKey(a, b)
				})
				last := random.Int64N(total.Load())
				forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
					list := slices.Clone(list)
					var calls atomic.Int64
					value := recovered(func() {
						by.call(p, list, func(a, b card) int {
							if calls.Add(1) > last {
								panic(errBad)
							}
							return byKey(a, b)
						})
					})
					requirePanic(t, value)
					requireSame(t, list)
				})
			}
		}
	})
}

func TestSortStrings(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, _ *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		list := make([]string, suite.Scaled(20000, 5000))
		for i := range list {
			list[i] = strconv.Itoa(random.IntN(1 << 20))
		}
		want := slices.Sorted(slices.Values(list))
		forkjoin.SortFunc(p, list, strings.Compare)
		assert.True(t, slices.Equal(want, list))
	})
}
