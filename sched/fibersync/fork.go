package fibersync

import (
	"errors"

	"fiberlab/sched/park"
)

// forked is some functions that one caller waits for. The caller calls the first one. Each of the others is a future,
// which is claimed by a helper or, when the caller comes to it, by the caller. As helpers come for all that the caller
// has not claimed, the functions may wait for one another, and Goexit may end the caller in one.
type forked struct {
	call     func(i int)
	list     *openCalls
	branches []branch // branches[i] is function i+1
}

// branch is one function of a fork, and the future of its end. It fails if the function panics or calls Goexit.
type branch struct {
	Promise[struct{}]
	open   openCall
	fork   *forked
	number int
}

// fork calls call(0) to call(count-1), and returns when all have returned.
func fork(count int, call func(i int)) {
	if count == 0 {
		return
	}
	f := newForked(count, call)
	f.open()
	last, goexit := 0, true // the function that the caller has called last, and whether it was by Goexit that it ended
	var first error         // of function 0
	defer func() {
		if last == 0 && goexit && errors.Is(first, ErrGoexit) {
			first = nil // the Goexit goes on when this returns
		}
		if err := f.join(first, last, goexit); err != nil {
			panic(err)
		}
	}()
	watch(func() { call(0) }, func(err error) { first = err })
	for i := range f.branches {
		if b := &f.branches[i]; f.list.claim(&b.open) {
			last = b.number
			b.begin()
		}
	}
	goexit = false
}

// newForked makes a fork. Most are forks in two.
func newForked(count int, call func(i int)) *forked {
	if count == 2 {
		both := new(struct {
			forked
			branch [1]branch
		})
		f := &both.forked
		f.call, f.branches = call, both.branch[:]
		return f
	}
	return &forked{call: call, branches: make([]branch, count-1)}
}

// open opens the calls of all branches.
func (f *forked) open() {
	if len(f.branches) == 0 {
		return
	}
	mayPark(park.Current(), nil) // before any function is called
	if f.list = callersList(); f.list == nil {
		f.list = new(openCalls)
	}
	start := false
	f.list.mu.Lock()
	for i := range f.branches {
		b := &f.branches[i]
		b.fork, b.number = f, i+1
		b.open.status, b.open.call = &b.future.status, b
		start = f.list.push(&b.open) || start
	}
	f.list.mu.Unlock()
	if start {
		f.list.startHelper()
	}
}

// begin calls the function of b, which the caller has claimed, and settles b.
func (b *branch) begin() {
	watch(func() { b.fork.call(b.number) }, func(err error) { b.future.settle(struct{}{}, err) })
}

// join waits for all branches, and returns first and their errors, joined in the order of the functions. If goexit is
// set and the error of function last is ErrGoexit, it is left out.
func (f *forked) join(first error, last int, goexit bool) error {
	// Helpers claim the first branches first. The last ones will most likely end last, so the caller waits once.
	for i := len(f.branches) - 1; i >= 0; i-- {
		_ = f.branches[i].future.wait(until{})
	}
	if f.list != nil {
		f.list.letHelperBegin()
	}
	var errs []error
	if first != nil {
		errs = append(errs, first)
	}
	for i := range f.branches {
		b := &f.branches[i]
		if err := b.future.err; err != nil && !(goexit && b.number == last && errors.Is(err, ErrGoexit)) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
