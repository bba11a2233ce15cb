package forkjoin

import (
	"sync/atomic"

	"fiberlab/sched/fibersync"
)

// note outlives a future, to report whether it has been forgotten.
type note struct {
	report func(string)
	over   atomic.Bool // the future has been fetched or dropped
}

func (n *note) look() {
	if !n.over.Load() {
		n.report("forkjoin: a future was neither fetched nor dropped: call Get or Drop of each")
	}
}

// Drop says that no caller will fetch the result. A task that has not started is taken off its queue and never runs. If
// it is in progress, Drop blocks the caller until it is complete, a fiber not its thread, since it may use what the
// caller is about to free. A task that drops its own future panics with an error that wraps ErrSelf. A result that has
// not been fetched goes to the function that Discard has set. After Get, Drop does nothing.
func (f *Future[T]) Drop() {
	f.mustBeMade()
	if f.fate.Load() != live {
		return
	}
	f.mustNotBeOwn("drop")
	if f.Status() == fibersync.NotStarted && f.pool.form.takeBack(f.pool.root.ownStrand(), &f.job) {
		f.task = nil
		f.drop(ErrDropped)
	}
	_, _ = f.promise.Future().Get()
	if f.end(dropped) {
		f.dispose()
	}
}

// end makes a live future's fate this one. It returns false if the future is live no more.
func (f *Future[T]) end(fate uint32) bool {
	if f.fate.Load() != live || !f.fate.CompareAndSwap(live, fate) {
		return false
	}
	f.pool.live.Add(-1)
	if f.note != nil {
		f.note.over.Store(true)
	}
	if f.discard.Load() != nil {
		f.pool.mu.Lock()
		delete(f.pool.disposable, f)
		f.pool.mu.Unlock()
	}
	return true
}

// disposer is a future whose result may have to be disposed of.
type disposer interface{ abandon() }

// Discard has dispose called with the task's result, such as an open file, if it is not fetched: by Drop, or by the
// pool's Close. It is not called if the task fails or does not run. Call Discard right after Submit. It panics with an
// error that wraps fibersync.ErrNilFunc if dispose is nil.
func (f *Future[T]) Discard(dispose func(T)) {
	mustBeFunc("discard", dispose == nil)
	f.mustBeMade()
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	// before the load, also in an emulator that lets it pass a Store: end does it the other way round
	f.discard.Swap(&dispose)
	if f.fate.Load() == live {
		if f.pool.disposable == nil {
			f.pool.disposable = make(map[disposer]struct{})
		}
		f.pool.disposable[f] = struct{}{}
	}
}

// abandon calls abandon of each, and returns the panics. If one calls Goexit, that ends the caller after the others.
func abandon(all []disposer) (errs error) {
	for i, f := range all {
		returned := false
		func() {
			defer func() {
				if returned {
					return
				}
				if value := recover(); value != nil {
					errs = both(errs, fibersync.AsPanicError(value))
				} else {
					_ = abandon(all[i+1:])
				}
			}()
			f.abandon()
			returned = true
		}()
	}
	return errs
}

// abandon implements disposer: the pool is closed, and the result has not been fetched. If there is only an error, Get
// may still say which.
func (f *Future[T]) abandon() {
	if _, err := f.promise.Future().Get(); err == nil && f.end(dropped) {
		f.dispose()
	}
}

// dispose gives the result to the function that Discard has set.
func (f *Future[T]) dispose() {
	v, err := f.promise.Future().Get()
	if dispose := f.discard.Load(); dispose != nil && err == nil {
		(*dispose)(v)
	}
}
