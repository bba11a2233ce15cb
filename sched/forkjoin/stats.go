package forkjoin

import "sync/atomic"

// Stats counts what a pool has done.
type Stats struct {
	Stolen    uint64 // tasks that drainers have run
	Helped    uint64 // tasks that a caller of Get has run itself
	Handed    uint64 // forks that a thief has taken under Heartbeat, or that were published before their strand parked
	Drainers  uint64 // drainers that have begun
	NotJoined uint64 // forks of a Func that were not joined when its call returned
	Live      int    // futures that have been neither fetched nor dropped
}

type counts struct{ stolen, helped, handed, drainers, notJoined atomic.Uint64 }

// Stats returns the pool's counts, at any time. They are exact if nothing runs during the call. The zero Pool has none.
func (p *Pool) Stats() Stats {
	if p == nil || p.of == nil {
		return Stats{}
	}
	c := p.of
	return Stats{
		Stolen: c.stolen.Load(), Helped: c.helped.Load(), Handed: c.handed.Load(), Drainers: c.drainers.Load(),
		NotJoined: c.notJoined.Load(), Live: int(c.live.Load()),
	}
}
