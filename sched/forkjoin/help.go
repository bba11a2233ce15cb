package forkjoin

import (
	"fmt"
	"runtime/debug"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// mostHelped is how many tasks a strand runs inside one another because callers needed their results. A caller that is deeper leaves the task
// to a drainer, which has another stack, and parks.
const mostHelped = 1000

// help runs the task if it has not started.
func (f *Future[T]) help() {
	if f.Status() != fibersync.NotStarted {
		return
	}
	if park.Current() == nil {
		f.helpOnGoroutine()
		return
	}
	s, made := f.pool.root.enter()
	if made {
		defer s.leave()
	}
	if s.helped >= mostHelped || !f.pool.form.takeBack(s, &f.job) {
		return
	}
	f.pool.helped.Add(1)
	s.helped++
	f.run(s)
	s.helped--
}

// helpOnGoroutine runs the task on another goroutine: if the task calls Goexit, as testing's FailNow does, that must not unwind
// the caller.
func (f *Future[T]) helpOnGoroutine() {
	if !f.pool.form.takeBack(f.pool.root.ownStrand(), &f.job) {
		return
	}
	f.pool.helped.Add(1)
	f.pool.running.Add(1)
	go func() {
		defer f.pool.gone()
		s := f.pool.newStrand()
		defer s.leave()
		f.run(s)
	}()
}

// endProgram is for a task that has called Goexit on a fiber. Goexit would unwind the frames below the task as well, perhaps those of a caller that needs
// its result, and nothing can stop it; the scheduler would end the program for it in the end.
func endProgram() {
	text := fmt.Sprintf("forkjoin: a task on a fiber: %v\n\n%s", fibersync.ErrGoexit, debug.Stack())
	go panic(text)
	select {}
}
