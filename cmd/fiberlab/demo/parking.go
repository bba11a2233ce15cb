package demo

import (
	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// parkingExecutor runs each task on a fiber of a scheduler. A wait parks the fiber, and the worker runs others.
type parkingExecutor struct{ scheduler *sched.Scheduler }

func (x parkingExecutor) fork(name string, task func(x executor) (int, error)) func() (int, error) {
	var p fibersync.Promise[int]
	err := x.scheduler.Enqueue(sched.Task{Name: name, Func: func() {
		result, err := task(x)
		if err != nil {
			p.Fail(err)
			return
		}
		p.Set(result)
	}})
	if err != nil {
		p.Fail(err)
	}
	return p.Future().Get
}

func (x parkingExecutor) place() (int, any) { return placeOfFiber() }

// placeOfFiber says on which worker the caller runs, which is a task of a scheduler, and on which fiber.
func placeOfFiber() (int, any) {
	f := sched.Current()
	return f.Worker().ID(), f
}

// onFibers runs the program on the fibers of a scheduler.
func onFibers(o JoinOptions) (JoinRun, error) {
	s, err := sched.New(o.Scheduler)
	if err != nil {
		return JoinRun{}, err
	}
	j := newJournal()
	var gets []func() (int, error)
	for i := range o.Parents {
		gets = append(gets, parkingExecutor{s}.fork(parent(j, i+1)))
	}
	if err := s.Close(); err != nil { // which waits for all tasks
		return JoinRun{}, err
	}
	return j.run(gets), nil
}
