package fiber

/*
#include "core.h"
*/
import "C"

// Stats counts what the package holds at some moment.
type Stats struct {
	Fibers     int // made and not closed; roots are not counted
	Roots      int // attached and not detached
	Idle       int // runners in the pool
	Identities int // Ms that the runtime has lent to Go bodies, or coroutines
	Stranded   int // runners on which a body called runtime.Goexit: reused up to a thousand times, never dropped
	Stacks     int // stacks in use, by fibers or by idle runners
}

// ReadStats returns the current counts. They are exact if no fiber is made
// or closed during the call.
func ReadStats() Stats {
	p := &runners
	s := Stats{
		Fibers:     int(p.inUse.Load()),
		Roots:      int(p.roots.Load()),
		Identities: int(p.identities.Load()),
		Stranded:   int(p.stranded.Load()),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Idle = p.idling
	for _, stacks := range p.stacks {
		s.Stacks += stacks.Stats().InUse
	}
	return s
}
