package uring

import (
	"math/bits"
	"time"

	"fiberlab/internal/clock"
)

// batch tells how many completions a wait is worth waiting for. Where they come quickly, a thread that is woken for
// each of them pays for a sleep and a wake-up each time, and hands the kernel one request at a time. Where they come
// slowly, a wait for more than one would only make the first one late.
//
// So the batch watches how quickly they come and how many requests they are for. As many callers wait for answers, so a
// wait for a small part of them makes each of them wait a little longer than it does anyway. The zero value asks for
// none.
type batch struct {
	rate int // completions in shortLimit, times rateUnit: a moving average
	last clock.Instant

	active  int // requests that had completions in the last interval
	seen    []uint64
	counted int // and in the present one, as bits in seen
	began   clock.Instant
}

const (
	// shortLimit is how long a wait for more than one completion takes at most if fewRequests are active, or less;
	// where more are it may be longer.
	shortLimit  = 60 * time.Microsecond
	fewRequests = 50
	longLimit   = 8 * shortLimit

	largestBatch   = 64
	rateUnit       = 256
	activeInterval = clock.Instant(10 * time.Millisecond)
)

// plan returns how many completions to wait for beside what the submitted requests bring at once, and for how long at
// most. 0 is to wait for any. A wake-up by another thread may wait for that long as well.
func (b *batch) plan() (more int, limit time.Duration) {
	limit = min(max(shortLimit, shortLimit*time.Duration(b.active)/fewRequests), longLimit)
	more = b.rate * int(limit/shortLimit) / rateUnit
	return min(more, b.active/4, largestBatch), limit
}

// came says that a wait has ended now with these completions, and how many of them were to come at once.
func (b *batch) came(done []completion, prompt int, now clock.Instant) {
	since := max(now-b.last, clock.Instant(shortLimit/rateUnit))
	b.last = now
	b.rate += (max(0, len(done)-prompt)*rateUnit*int(shortLimit)/int(since) - b.rate) / 4
	b.count(done)
	if now-b.began > activeInterval {
		b.active, b.counted, b.began = b.counted, 0, now
		clear(b.seen)
	}
}

// count counts the requests that have completions.
func (b *batch) count(done []completion) {
	for _, c := range done {
		slot := uint32(c.id) // of the engine's table: small numbers
		word, bit := int(slot/64), uint64(1)<<(slot%64)
		if word >= len(b.seen) {
			b.seen = append(b.seen, make([]uint64, 1<<bits.Len(uint(word))-len(b.seen))...)
		}
		if b.seen[word]&bit == 0 {
			b.seen[word] |= bit
			b.counted++
		}
	}
}
