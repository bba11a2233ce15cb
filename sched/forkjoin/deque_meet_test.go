package forkjoin

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// meeting lets two sides begin each round at the same moment, as nearly as can be.
type meeting struct {
	_       [64]byte
	arrived [2]struct {
		round atomic.Int64
		_     [120]byte
	}
}

// meet returns when the other side has come to the same round.
func (m *meeting) meet(side int, round int64) {
	m.arrived[side].round.Store(round)
	for spins := 0; m.arrived[1-side].round.Load() < round; spins++ {
		if spins > 1000 {
			runtime.Gosched() // the other side may need the processor
		}
	}
}

// The owner pops all of a few items while a thief steals them: they meet at the last ones.
func TestDequeWhereOwnerAndThiefMeet(t *testing.T) {
	type item struct{ taken atomic.Int32 }
	rounds := int64(scaled(20000))
	var d deque[item]
	var m meeting
	var items [4]item
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for round := range rounds {
			if m.meet(1, 2*round+1); done.Load() {
				return
			}
			for !d.empty() {
				if x, _ := d.steal(); x != nil {
					x.taken.Add(1)
				}
			}
			m.meet(1, 2*round+2)
		}
	}()
	defer func() {
		done.Store(true)
		m.arrived[0].round.Store(2 * rounds)
		<-ended
	}()
	begun := time.Now()
	for round := range rounds {
		if time.Since(begun) > 300*time.Millisecond { // on a slow or busy machine fewer rounds must do
			break
		}
		n := 2 + int(round)%3
		for i := range n {
			items[i].taken.Store(0)
			d.push(&items[i])
		}
		m.meet(0, 2*round+1)
		for x := d.pop(); x != nil; x = d.pop() {
			x.taken.Add(1)
		}
		m.meet(0, 2*round+2)
		wrong := ""
		for i := range n {
			if taken := items[i].taken.Load(); taken != 1 {
				wrong = fmt.Sprintf("item %d of %d came out %d times", i, n, taken)
			}
		}
		if top, bottom := d.top.Load(), d.bottom.Load(); top != bottom {
			wrong += fmt.Sprintf("; the empty deque goes from %d to %d", top, bottom)
		}
		if wrong != "" { // then a push or pop may never return
			t.Fatalf("round %d: %s", round, wrong)
		}
	}
	require.Zero(t, occupied(&d))
}
