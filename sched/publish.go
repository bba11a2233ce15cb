package sched

// A fiber that may migrate is unpublished from the moment when it blocks or yields until its registers are saved.

// publish lets other workers resume f, whose registers are saved now. If it has yielded, or has been
// woken meanwhile, it is put where it will be run.
func (f *Fiber) publish() {
	for {
		old := f.load()
		next, why := old&^(unpublished|notified|expired), WhyNotify
		switch {
		case old&notified != 0:
			next = old.in(Queued) | old&expired
			if old&expired != 0 {
				why = WhyTimeout
			}
			if f.swap(old, next, why) {
				f.deliver()
				return
			}
		case f.mark(old, next):
			if next.state() == Queued {
				f.deliver()
			}
			return
		}
	}
}

// recalled makes f Queued if it has been woken while it was unpublished, and tells whether it did. The worker that
// runs f has not left it yet, so f can go on at once, if nothing else is to run.
func (f *Fiber) recalled() bool {
	old := f.load()
	if old&notified == 0 || !old.blocked() {
		return false
	}
	why := WhyNotify
	if old&expired != 0 {
		why = WhyTimeout
	}
	// Only this thread changes a word that is marked.
	f.store(old.in(Queued)|old&expired, why)
	return true
}
