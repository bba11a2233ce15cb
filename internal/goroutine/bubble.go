package goroutine

import (
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// InBubble reports whether the caller is in a bubble of testing/synctest. It takes a microsecond, and does not block.
//
// In a bubble package time's clock is far from the kernel's. They may also differ because one of them has been set
// between the two readings, or belongs to a tool. So the head of the caller's stack trace, where the runtime names the
// bubble, must agree.
func InBubble() bool {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil {
		return false
	}
	if time.Since(time.Unix(now.Unix())).Abs() < time.Hour {
		return false
	}
	return strings.Contains(Head(), "synctest")
}
