package fibersync

import (
	"runtime"
	"testing"
	"time"
)

// An event that no variable refers to any more is in no list either, after a collection or two.
func TestAnyOfLeavesNoTraceInALongLivedEvent(t *testing.T) {
	var source Event
	for range 1000 {
		AnyOf(AutoReset, &source, new(Event))
	}
	none := func() bool {
		source.mu.Lock()
		defer source.mu.Unlock()
		return source.followers == nil
	}
	for !none() { // for ever, if it keeps them
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
