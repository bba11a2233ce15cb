package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// InBubble tells whether the caller is in a bubble of testing/synctest: there, package time's clock is far from the kernel's.
func InBubble() bool {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return false
	}
	return time.Since(time.Unix(now.Unix())).Abs() > time.Hour
}
