package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each bucket begins where the one before it ends, and is as wide as an eighth of its values at most.
func TestBuckets(t *testing.T) {
	for i := range buckets - 1 {
		require.Equal(t, i, bucket(last(i)), "the last value of bucket %d", i)
		require.Equal(t, i+1, bucket(last(i)+1), "the value after that of bucket %d", i)
		if first := last(i) + 1; first >= ranges {
			require.LessOrEqual(t, last(i+1)-first, first/ranges, "the width of bucket %d", i+1)
		}
	}
	assert.Equal(t, buckets-1, bucket(math.MaxUint64))
}

// A quantile is at most an eighth longer than what sorting finds.
func TestQuantiles(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	for round := range 200 {
		var one, two Histogram
		list := make([]time.Duration, 1+random.IntN(300))
		for i := range list {
			list[i] = time.Duration(random.Uint64() >> (24 + random.IntN(40)))
			if i%2 == 0 {
				one.Add(list[i])
			} else {
				two.Add(list[i])
			}
		}
		var sum Sum
		sum.Add(&one)
		sum.Add(&two)
		slices.Sort(list)
		require.EqualValues(t, len(list), sum.Count())
		require.Equal(t, list[len(list)-1], sum.Longest())
		for _, part := range []float64{0.01, 0.5, 0.99, 1} {
			want := list[max(int(math.Ceil(part*float64(len(list)))), 1)-1]
			got := sum.Quantile(part)
			require.GreaterOrEqual(t, got, want, "seed %d, round %d: quantile %g of %d", seed, round, part, len(list))
			require.LessOrEqual(
				t, got, want+want/ranges, "seed %d, round %d: quantile %g of %d", seed, round, part, len(list),
			)
		}
	}
}

func TestNothingAndNegative(t *testing.T) {
	var h Histogram
	var none, one Sum
	none.Add(&h)
	assert.Equal(t, [3]time.Duration{}, [3]time.Duration{none.Quantile(0.5), none.Quantile(1), none.Longest()})
	h.Add(-time.Second)
	one.Add(&h)
	assert.EqualValues(t, 1, one.Count())
	assert.Zero(t, one.Quantile(1))
}

// Threads add while another one reads; nothing is lost.
func TestManyThreads(t *testing.T) {
	const threads, each = 4, 20000
	var h Histogram
	var over sync.WaitGroup
	for i := range threads {
		over.Add(1)
		go func() {
			defer over.Done()
			for n := range each {
				h.Add(time.Duration(i*each + n))
			}
		}()
	}
	before := uint64(0)
	for range 100 {
		var s Sum
		s.Add(&h)
		require.GreaterOrEqual(t, s.Count(), before)
		before = s.Count()
	}
	over.Wait()
	var s Sum
	s.Add(&h)
	assert.EqualValues(t, threads*each, s.Count())
	assert.EqualValues(t, threads*each-1, s.Longest())
}
