package fiber

import (
	"sync"
	"time"
)

// ticking is a timer that is due every tick while a hand-switched root is attached.
// It does nothing, but while it is there the runtime's monitor does not oversleep:
// Go 1.26 may fail to stop the world at
// the first try if the monitor just looks at a goroutine that is in C, as all
// suspended fibers are; it then counts on the monitor, which sleeps for up to a
// minute when the world is about to stop and no timer is due.
var ticking struct {
	mu    sync.Mutex
	timer *time.Timer
	roots int
}

const tick = 10 * time.Millisecond

// startTicking is called by each hand-switched root that is attached.
func startTicking() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	t.roots++
	if t.timer == nil {
		t.timer = time.AfterFunc(tick, tickAgain)
	} else if t.roots == 1 {
		t.timer.Reset(tick)
	}
}

// stopTicking is called by each that is detached.
func stopTicking() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	t.roots--
	if t.roots == 0 {
		t.timer.Stop()
	}
}

func tickAgain() {
	t := &ticking
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.roots > 0 {
		t.timer.Reset(tick)
	}
}
