package serve

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// A client may connect and send nothing, or half a request, or never read its answer. Its connection would hold a
// descriptor and a fiber or goroutine until it closes. So a connection on which no byte moves is closed in the end.

const (
	// DefaultIdle is how long a connection may be open while no byte moves on it.
	DefaultIdle = 2 * time.Minute
	// DefaultHeader is how long a client may take to send the header of a request.
	DefaultHeader = 10 * time.Second
)

// moves is when bytes have moved on a connection last. The zero value is when the process began.
type moves struct{ last atomic.Int64 } // since began

var began = time.Now()

// at notes that bytes have moved. Any goroutine or fiber may call it.
func (m *moves) at(now time.Time) { m.last.Store(int64(now.Sub(began))) }

// before reports whether no byte has moved since then.
func (m *moves) before(then time.Time) bool { return m.last.Load() <= int64(then.Sub(began)) }

// closeIdle closes the connections of running on which no byte has moved for limit, until ctx is done. They are found
// up to a quarter of limit later. A limit of 0 or less is none.
func (s *site) closeIdle(ctx context.Context, running session, limit time.Duration) {
	if limit <= 0 {
		return
	}
	look := time.NewTicker(max(limit/4, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			for _, c := range running.idle(now.Add(-limit)) {
				s.idled.Add(1)
				_ = c.Close()
			}
		}
	}
}

// idleOf returns those connections on which no byte has moved since then. Each is returned once.
func idleOf[C interface {
	comparable
	net.Conn
}](conns map[C]*moves, then time.Time) (idle []net.Conn) {
	for c, m := range conns {
		if m.before(then) {
			m.last.Store(math.MaxInt64) // its server may take a while to forget it
			idle = append(idle, c)
		}
	}
	return idle
}
