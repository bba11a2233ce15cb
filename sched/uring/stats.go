package uring

import "sync/atomic"

// Stats is what an engine has done since it began.
type Stats struct {
	Enters    uint64 // system calls by which it submits, waits and collects
	Submitted uint64 // requests that were handed to the kernel
	Collected uint64 // completions that came back: a request may have many
	Wakes     uint64 // waits that other threads have ended
}

// Stats may be called from anywhere. The numbers are those of the engine's last turn.
func (e *Engine) Stats() Stats { return e.engine.counts.load() }

// Stats is the sum over all engines that there are now.
func (s *Engines) Stats() (sum Stats) {
	for _, e := range s.engines() {
		n := e.Stats()
		sum.Enters += n.Enters
		sum.Submitted += n.Submitted
		sum.Collected += n.Collected
		sum.Wakes += n.Wakes
	}
	return sum
}

// published is what other threads may see of a proxy's counts.
type published struct{ enters, submitted, collected, wakes atomic.Uint64 }

func (p *published) publish(s Stats) {
	p.enters.Store(s.Enters)
	p.submitted.Store(s.Submitted)
	p.collected.Store(s.Collected)
	p.wakes.Store(s.Wakes)
}

func (p *published) load() Stats {
	return Stats{p.enters.Load(), p.submitted.Load(), p.collected.Load(), p.wakes.Load()}
}
