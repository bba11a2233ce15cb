package uring

import (
	"math"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// deadline is a time that may change while others wait for it. The zero value is never.
type deadline struct{ at atomic.Int64 } // nanoseconds since epoch; 0: never

// epoch has a reading of the monotonic clock, as all times that are compared with it.
var epoch = time.Now()

// set makes t the deadline; the zero time is never. By a Swap, see pollSubmit: the caller looks next whether something
// waits.
func (d *deadline) set(t time.Time) {
	if t.IsZero() {
		d.at.Swap(0)
		return
	}
	now := time.Now()
	at := int64(now.Sub(epoch))
	if left := int64(t.Sub(now)); left < math.MaxInt64-at {
		at += left
	} else {
		at = math.MaxInt64
	}
	if at == 0 {
		at = 1
	}
	d.at.Swap(at)
}

// ended returns os.ErrDeadlineExceeded if the deadline has passed, or else when it will; the zero time is never.
func (d *deadline) ended() (time.Time, error) {
	for {
		at := d.at.Load()
		if at == 0 {
			return time.Time{}, nil
		}
		t := epoch.Add(time.Duration(at))
		if time.Now().Before(t) {
			return t, nil
		}
		if d.at.Load() == at { // it was not put off while it was yet to come
			return time.Time{}, os.ErrDeadlineExceeded
		}
	}
}

// setDeadline sets the deadlines of sides, and tells the callers that wait there.
func (d *descriptor) setDeadline(t time.Time, sides ...*side) error {
	if !d.acquire() {
		return net.ErrClosed
	}
	defer d.release()
	for _, s := range sides {
		s.deadline.set(t)
		s.nudge()
	}
	return nil
}
