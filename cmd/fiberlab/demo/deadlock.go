package demo

import (
	"errors"
	"fmt"
	"slices"

	"fiberlab/sched"
	"fiberlab/sched/forkjoin"
)

// ErrCount is the error of a pool without threads, or of a program without tasks.
var ErrCount = errors.New("give at least 1")

// executor runs tasks. A task gets the executor that it runs on, and forks its children by it.
type executor interface {
	// fork submits a task. The function that it returns waits for the task's result; the caller of fork calls it.
	fork(name string, task func(x executor) (int, error)) (get func() (int, error))
	// place says on which thread the caller runs, which is a task of this executor, and on which stack.
	place() (thread int, stack any)
}

// parent is a task of the program: it forks a child and waits for it.
func parent(j *journal, number int) (name string, task func(x executor) (int, error)) {
	name, child := fmt.Sprintf("parent %d", number), fmt.Sprintf("child %d", number)
	return name, func(x executor) (int, error) {
		j.add(x, name, "begins", "")
		get := x.fork(child, func(x executor) (int, error) {
			j.add(x, child, "begins", "")
			j.add(x, child, "ends", "")
			return number, nil
		})
		j.add(x, name, "waits for", child)
		result, err := get()
		if err == nil {
			j.add(x, name, "ends", "")
		}
		return result, err
	}
}

// Joins is what came of one program, whose tasks wait for their children, under different kinds of joins.
type Joins struct {
	Threads int     `json:"threads"` // of each pool
	Parents int     `json:"parents"` // each has one child
	Plain   JoinRun `json:"plain"`   // the wait blocks the thread
	Helping JoinRun `json:"helping"` // the wait runs the child itself
	Parking JoinRun `json:"parking"` // the wait parks the fiber
	Verdict bool    `json:"shown"`   // the plain pool was stuck, and the others finished
}

// JoinRun is one run of the program.
type JoinRun struct {
	Finished bool          `json:"finished"` // all tasks, with the right results
	Stuck    []StuckThread `json:"stuck,omitempty"`
	Why      string        `json:"why,omitempty"` // it is stuck
	Inside   int           `json:"inside"`        // children that ran on the stack of their parent
	Entries  []Entry       `json:"entries"`
}

// StuckThread is a thread of a plain pool, the task that it runs, and the task whose result that waits for.
type StuckThread struct {
	Thread int    `json:"thread"`
	Runs   string `json:"runs"`
	Awaits string `json:"awaits"`
	Queued int    `json:"queued"` // the place in the queue of the task that is awaited, from 1; 0: it is not there
}

// String is a sentence.
func (t StuckThread) String() string {
	text := fmt.Sprintf("Thread %d runs %s, which waits for %s", t.Thread, t.Runs, t.Awaits)
	if t.Queued > 0 {
		text += fmt.Sprintf(", which is number %d in the queue", t.Queued)
	}
	return text + "."
}

// JoinOptions say how CompareJoins runs its program.
type JoinOptions struct {
	Scheduler sched.Config  // Workers is the number of threads of each pool, the plain one too
	Form      forkjoin.Form // of the pool that helps
	Parents   int           // tasks that wait for one child each
}

// CompareJoins runs the program three times: on a pool whose waits block, on one whose waits help, and on fibers whose
// waits park.
//
// It blocks until each has finished, or is stuck and was taken apart; then nothing of it is left. The error wraps
// ErrCount, or is one of packages sched and forkjoin.
func CompareJoins(o JoinOptions) (*Joins, error) {
	if o.Scheduler.Workers < 1 {
		return nil, fmt.Errorf("demo: %d threads: %w", o.Scheduler.Workers, ErrCount)
	}
	if o.Parents < 1 {
		return nil, fmt.Errorf("demo: %d parents: %w", o.Parents, ErrCount)
	}
	c := &Joins{Threads: o.Scheduler.Workers, Parents: o.Parents, Plain: onPlainPool(o)}
	var err error
	if c.Helping, err = onHelpingPool(o); err != nil {
		return nil, fmt.Errorf("demo: helping: %w", err)
	}
	if c.Parking, err = onFibers(o); err != nil {
		return nil, fmt.Errorf("demo: parking: %w", err)
	}
	c.Verdict = c.Plain.Stuck != nil && c.Helping.Finished && c.Parking.Finished
	return c, nil
}

// onPlainPool runs the program on a plain pool. All parents are queued before the first thread starts, so they come
// before the children.
func onPlainPool(o JoinOptions) JoinRun {
	j, p := newJournal(), newPlainPool()
	var futures []*plainFuture
	for i := range o.Parents {
		futures = append(futures, p.submit(parent(j, i+1)))
	}
	p.start(o.Scheduler.Workers)
	stuck := p.finish(futures)
	var gets []func() (int, error)
	for _, f := range futures {
		gets = append(gets, f.end)
	}
	run := j.run(gets)
	run.Stuck = stuck
	if stuck != nil && !slices.ContainsFunc(stuck, func(t StuckThread) bool { return t.Queued == 0 }) {
		run.Why = "Only a thread of the pool takes a task off the queue, and each of them waits for a task that is " +
			"in the queue. So no task will ever begin, and no wait will end."
	}
	return run
}

// run is what came of a run whose parents have ended. gets return their results.
func (j *journal) run(gets []func() (int, error)) JoinRun {
	r := JoinRun{Finished: true, Entries: j.entries}
	for i, get := range gets {
		result, err := get()
		r.Finished = r.Finished && err == nil && result == i+1
		if j.sharesStack(fmt.Sprintf("parent %d", i+1), fmt.Sprintf("child %d", i+1)) {
			r.Inside++
		}
	}
	return r
}
