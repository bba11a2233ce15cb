package forkjoin_test

import (
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
	"fiberlab/tests/internal/schedtest"
	"fiberlab/tests/internal/suite"
)

func addInts(a, b int) int { return a + b }

func noBody(context.Context, *forkjoin.Pool, int, int) error { return nil }

// Concatenation is associative and not commutative.
func TestReduceKeepsTheOrder(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for range 5 {
			r := randomRange(random, 300)
			var want []int
			for i := r.Begin; i < r.End; i++ {
				want = append(want, i)
			}
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				got := forkjoin.Reduce(p, r, func(_ *forkjoin.Pool, begin, end int) (part []int) {
					nowAndThen(rand.Uint32(), 50)
					for i := begin; i < end; i++ {
						part = append(part, i)
					}
					return part
				}, func(left, right []int) []int { return append(left, right...) })
				assert.True(t, slices.Equal(want, got), "%+v gives %v", r, got)
			})
		}
	})
}

func TestMapKeepsTheOrder(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for _, n := range []int{0, 1, 2, random.IntN(1000)} {
			list := make([]int, n)
			for i := range list {
				list[i] = random.IntN(1000)
			}
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				got := forkjoin.Map(p, list, func(_ *forkjoin.Pool, v int) string {
					nowAndThen(rand.Uint32(), 50)
					return strconv.Itoa(v)
				})
				if assert.Len(t, got, n) && assert.NotNil(t, got) {
					for i, v := range list {
						assert.Equal(t, strconv.Itoa(v), got[i], "result %d of %d", i, n)
					}
				}
			})
		}
	})
}

// The text of element i is the text of all elements from 0 to i.
func TestScanKeepsTheOrder(t *testing.T) {
	forktest.EachPool(t, func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
		random := suite.NewRand(t)
		for _, n := range []int{0, 1, 2, 3, random.IntN(300)} {
			list := make([]string, n)
			for i := range list {
				list[i] = strconv.Itoa(random.IntN(100)) + ","
			}
			given := slices.Clone(list)
			forktest.FromEach(t, s, p, func(p *forkjoin.Pool) {
				got := forkjoin.Scan(p, list, func(left, right string) string {
					nowAndThen(rand.Uint32(), 50)
					return left + right
				})
				if assert.Len(t, got, n) && assert.NotNil(t, got) {
					for i := range given {
						if want := strings.Join(given[:i+1], ""); want != got[i] {
							assert.Equal(t, want, got[i], "result %d of %d", i, n)
							break
						}
					}
				}
			})
			assert.Equal(t, given, list)
		}
	})
}

// Without another worker nothing is passed twice.
func TestScanByOneTakesOnePass(t *testing.T) {
	forktest.EachConfig(
		t, suite.Over{Workers: suite.OneThread},
		func(t *testing.T, cfg sched.Config, form forkjoin.Form) {
			forktest.OnPool(
				t, cfg, forkjoin.Config{Form: form},
				func(t *testing.T, s *sched.Scheduler, p *forkjoin.Pool) {
					const n = 1000
					var calls atomic.Int64
					schedtest.Perform(t, s, func() {
						forkjoin.Scan(p, make([]int, n), func(a, b int) int {
							calls.Add(1)
							return a + b
						})
					})
					assert.EqualValues(t, n-1, calls.Load())
				},
			)
		},
	)
}
