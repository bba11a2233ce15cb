// Package histogram counts durations in ranges that grow with them: so few counts tell a median, or a percentile, of
// anything from nanoseconds to minutes.
package histogram

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	_ "fiberlab/internal/platform"
)

// Each power of two has as many ranges of the same width: a duration is known to an eighth.
const (
	rangeBits = 3
	ranges    = 1 << rangeBits
	octaves   = 38 // longer ones than 2^40 ns, 18 minutes, are counted with the longest
	buckets   = octaves * ranges
)

// Histogram counts durations. Any thread may add some, and any other may read them at the same time.
// The zero value is empty.
type Histogram struct {
	counts  [buckets]atomic.Uint64
	longest atomic.Uint64 // in nanoseconds
}

// Add counts one. A negative one counts as 0. It costs two atomic operations, and never blocks.
func (h *Histogram) Add(d time.Duration) {
	v := uint64(max(d, 0))
	for old := h.longest.Load(); v > old && !h.longest.CompareAndSwap(old, v); {
		old = h.longest.Load()
	}
	h.counts[bucket(v)].Add(1) // after longest: a reader that finds d counted finds longest no shorter
}

// bucket is where v is counted.
func bucket(v uint64) int {
	if v < ranges {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - rangeBits
	return min(shift*ranges+int(v>>shift), buckets-1)
}

// last is the largest value that is counted in a bucket.
func last(bucket int) uint64 {
	if bucket < ranges {
		return uint64(bucket)
	}
	shift := bucket/ranges - 1
	return uint64(ranges+bucket%ranges+1)<<shift - 1
}

// Sum is what some histograms have counted together.
type Sum struct {
	counts  [buckets]uint64
	count   uint64
	longest uint64
}

// Add adds what h has counted so far.
func (s *Sum) Add(h *Histogram) {
	for i := range h.counts {
		n := h.counts[i].Load()
		s.counts[i] += n
		s.count += n
	}
	s.longest = max(s.longest, h.longest.Load())
}

// Count is how many durations there are.
func (s *Sum) Count() uint64 { return s.count }

// Longest is the longest one, 0 if there is none.
func (s *Sum) Longest() time.Duration { return time.Duration(s.longest) }

// Quantile is a duration that the given part of all, more than 0 and at most 1, do not exceed. It is at most an eighth
// too long, and never longer than the longest. It is 0 if there is none. Above 18 minutes it is the longest.
func (s *Sum) Quantile(part float64) time.Duration {
	rank := max(uint64(math.Ceil(part*float64(s.count))), 1) // of the value that is looked for
	seen := uint64(0)
	for i, n := range s.counts {
		if seen += n; seen >= rank && i < buckets-1 {
			return time.Duration(min(last(i), s.longest))
		}
	}
	return s.Longest()
}
