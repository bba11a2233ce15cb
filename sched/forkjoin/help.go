package forkjoin

import (
	"fmt"
	"runtime/debug"

	"fiberlab/sched/fibersync"
	"fiberlab/sched/park"
)

// mostHelped is how many tasks a strand runs inside one another because callers needed their results. A caller that is
// deeper leaves the task to a drainer, which has another stack, and parks.
const mostHelped = 1000

// help runs the task on the caller's fiber if it has not started. A goroutine does not help: tasks run on fibers.
func (f *Future[T]) help() {
	if f.Status() != fibersync.NotStarted || park.Current() == nil {
		return
	}
	p := f.pool
	s := p.root.ownStrand()
	if s == nil {
		if p.admit() != nil {
			return // Close drops the task
		}
		s = p.newStrand()
		defer s.leave()
	}
	if s.helped >= mostHelped || !p.form.takeBack(s, &f.job) {
		return
	}
	s.helped++
	s.begin(&f.job, &p.helped)
	s.helped--
}

// endProgram is for a task that has called Goexit on a fiber. Goexit would unwind the frames below the task as well,
// perhaps frames of a caller that needs its result, and nothing can stop it. At the end the scheduler would end the
// program in any case.
func endProgram() {
	text := fmt.Sprintf("forkjoin: a task on a fiber: %v\n\n%s", fibersync.ErrGoexit, debug.Stack())
	go panic(text)
	select {}
}
