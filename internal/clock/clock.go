package clock

import (
	"math"
	"time"
)

// Instant is a moment in nanoseconds on the monotonic clock since the program's start. Wall-clock time
// goes into no decision of a scheduler.
type Instant int64

// Never is the deadline of a wait that has none.
const Never = Instant(math.MaxInt64)

var start = time.Now()

// Now is the present moment.
func Now() Instant { return Instant(time.Since(start)) }

// After is the instant that lies d from now; Never if that is too far to tell.
func After(d time.Duration) Instant {
	if t := Now() + Instant(d); d <= 0 || t > 0 {
		return t
	}
	return Never
}

// At is the instant of t. By a t that has no reading of the monotonic clock, that depends on what
// the wall clock shows during this call.
func At(t time.Time) Instant {
	if t == t.Round(0) {
		return After(time.Until(t))
	}
	return Instant(t.Sub(start))
}
