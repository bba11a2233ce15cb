package sched

// A fiber that may migrate is unpublished from the moment when it blocks or yields until its registers are saved.

// publish lets other workers resume f, whose registers are saved now. If it has yielded, or has been
// woken meanwhile, it is put where it will be run.
func (f *Fiber) publish() {
	for {
		old := f.load()
		switch {
		case old&notified != 0:
			if next, why := old.woken(); f.swap(old, next, why) {
				f.deliver()
				return
			}
		case f.mark(old, old&^(unpublished|expired)):
			if old.state() == Queued {
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
	next, why := old.woken()
	f.store(next, why) // only this thread changes a word that is marked
	return true
}

// woken is the word that follows w, which was notified while it was unpublished, and why.
func (w word) woken() (word, Why) {
	if w&expired != 0 {
		return w.in(Queued) | expired, WhyTimeout
	}
	return w.in(Queued), WhyNotify
}

// mayStay tells whether f, the calling fiber, which its worker has not left yet, may go on if nothing else is to run: it
// has been woken, or has only yielded.
func (f *Fiber) mayStay() bool {
	if f.recalled() {
		return true
	}
	old := f.load()
	return old.state() == Queued && old&unpublished != 0
}
