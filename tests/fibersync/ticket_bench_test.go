package fibersync_test

import (
	"runtime"
	"sync"
	"testing"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// takeTurns is 8 clients that do b.N turns together.
func takeTurns(b *testing.B, together func(bodies ...func()), turn func()) {
	const clients = 8
	b.ReportAllocs()
	bodies := make([]func(), clients)
	for i := range bodies {
		bodies[i] = func() {
			for range (b.N + i) / clients {
				turn()
			}
		}
	}
	together(bodies...)
}

// channelQueue calls its tickets by channels: each ticket waits for the channel of the one
// before it.
type channelQueue struct {
	mu   sync.Mutex
	last chan struct{}
}

func (q *channelQueue) take() (called, done chan struct{}) {
	done = make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	called, q.last = q.last, done
	return called, done
}

// BenchmarkTicket is 8 clients; each takes a ticket, waits for its call, lets others
// run, and is done. An op is a ticket. The rival is a channel for each ticket.
func BenchmarkTicket(b *testing.B) {
	benchCompany(b, func(b *testing.B, together func(bodies ...func())) {
		var q fibersync.TicketQueue
		takeTurns(b, together, func() {
			t := q.Take()
			t.Wait()
			sched.Yield()
			t.Done()
		})
	})
	benchRival(b, func(b *testing.B, together func(bodies ...func())) {
		q := channelQueue{last: make(chan struct{})}
		close(q.last)
		takeTurns(b, together, func() {
			called, done := q.take()
			<-called
			runtime.Gosched()
			close(done)
		})
	})
}
