package demo

import (
	"errors"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// helpingExecutor submits tasks to a pool in which a wait runs the task itself if no other caller has begun it.
type helpingExecutor struct{ pool *forkjoin.Pool }

func (x helpingExecutor) fork(name string, task func(x executor) (int, error)) func() (int, error) {
	return x.submit(task).Get
}

func (x helpingExecutor) submit(task func(x executor) (int, error)) *forkjoin.Future[int] {
	return forkjoin.Submit(x.pool, func(p *forkjoin.Pool) (int, error) { return task(helpingExecutor{p}) })
}

func (x helpingExecutor) place() (int, any) { return placeOfFiber() }

// onHelpingPool runs the program on a pool of package forkjoin. The caller leaves all tasks to the workers:
// it does not help.
func onHelpingPool(o JoinOptions) (JoinRun, error) {
	s, err := sched.New(o.Scheduler)
	if err != nil {
		return JoinRun{}, err
	}
	p, err := forkjoin.New(s, forkjoin.Config{Form: o.Form})
	if err != nil {
		return JoinRun{}, errors.Join(err, s.Close())
	}
	j := newJournal()
	var futures []*forkjoin.Future[int]
	for i := range o.Parents {
		_, task := parent(j, i+1)
		futures = append(futures, helpingExecutor{p}.submit(task))
	}
	var gets []func() (int, error)
	for _, f := range futures {
		<-f.Done()
		gets = append(gets, f.Get)
	}
	run := j.run(gets)
	return run, errors.Join(p.Close(), s.Close())
}
