package stack

// Stats describes a pool at one moment.
type Stats struct {
	Size        int   // bytes of each stack
	Guard       Guard // the kind in use, never GuardAuto
	GuardPages  int   // pages of each guard
	InUse       int   // stacks handed out
	Idle        int   // stacks put back whose pages are kept
	Slabs       int   // mappings made
	Capacity    int   // stacks there are addresses for, InUse and Idle included
	MappedBytes int64 // addresses held, guards included; far more than the memory in use
}

// Stats returns the present numbers.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{
		Size:        int(p.size),
		Guard:       p.guard,
		GuardPages:  int(p.guardSize / pageSize),
		InUse:       p.inUse,
		Idle:        p.idles,
		Slabs:       len(p.slabs),
		Capacity:    p.stacks,
		MappedBytes: int64(p.stacks) * int64(p.stride()),
	}
}
