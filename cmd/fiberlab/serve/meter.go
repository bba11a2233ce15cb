package serve

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fiberlab/internal/histogram"
)

// meter counts what a server does. Each connection has one of the tallies, which it shares with few others: so threads
// seldom want the same one at the same moment.
type meter struct {
	connections atomic.Int64
	refused     atomic.Int64 // attempts to accept a connection that failed for want of descriptors or memory
	idled       atomic.Int64 // connections that were closed because no byte moved
	tallies     [16]tally
}

// tally is what some connections have done.
type tally struct {
	requests, in, out atomic.Int64 // in and out are bytes
	service           histogram.Histogram
	_                 [64]byte // the next one is in another cache line
}

// tally is for the connection that has been counted last.
func (m *meter) tally() *tally { return &m.tallies[int(m.connections.Load())%len(m.tallies)] }

// request counts a request that took so long.
func (t *tally) request(took time.Duration) {
	t.requests.Add(1)
	t.service.Add(took)
}

// usage is processor time of this process.
type usage struct{ user, system time.Duration }

func readUsage() usage {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r) // it fails for wrong arguments alone
	return usage{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano())}
}

func (u usage) minus(v usage) usage { return usage{u.user - v.user, u.system - v.system} }
