package fibersync

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/sched/park"
)

// taker is a waiter that takes further tickets when it is woken, as other threads may do at that time.
type taker struct {
	park.Parker
	woken func()
}

func (t taker) Unpark() { t.woken() }

// Done skips the tickets that have been taken before, however many more are taken and given back during the call.
func TestDoneSkipsNoLaterTickets(t *testing.T) {
	const most = 100
	var q TicketQueue
	rounds := 0
	var takeMore func()
	takeMore = func() {
		if rounds++; rounds == most {
			return
		}
		for i := range mostSkipped {
			later := q.Take()
			q.mu.Lock()
			if i == 0 {
				later.waiters.push(&waiter{parker: taker{woken: takeMore}})
			}
			later.done = true // by a caller of Done that has not come to skip it
			q.mu.Unlock()
		}
	}
	first := q.Take()
	takeMore()
	first.Done()
	require.Less(t, rounds, most)
}

// The queue passes over a long run of tickets that are done. Others may use it at the same time: a waiter that is woken
// in the middle finds the queue's lock free, and the end of the run not called yet.
func TestRunOfDoneTicketsDoesNotHoldTheQueue(t *testing.T) {
	var q TicketQueue
	first, second := q.Take(), q.Take()
	for range 10_000 {
		q.Take().Done()
	}
	last := q.Take()
	inTheMiddle := false
	second.waiters.push(&waiter{parker: taker{woken: func() {
		q.mu.Lock()
		inTheMiddle = !last.called
		q.mu.Unlock()
	}}})
	second.Done()
	first.Done()
	require.True(t, inTheMiddle, "all were passed over at one go")
	last.Wait()
}
