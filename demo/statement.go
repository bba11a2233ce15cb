package demo

import (
	"fmt"
	"slices"

	"fiberlab/sched/fibersync"
)

// statement is what a line of a little program means. do or asks runs on the fiber of the thread, when the
// schedule gives it a turn.
type statement struct {
	words  string // what the thread does, in the third person
	ofTask bool   // there must be a task

	ready func(t *thread) bool // whether the thread can run it now; nil: always
	do    func(t *thread)

	// asks is the condition of an if or a while, which has no do. found is what the thread finds.
	asks func(t *thread) (holds bool, found string)
}

// statements are all lines that a little program may have. They are filled in by init since they refer to executions,
// which look lines up here.
var statements map[string]statement

func init() {
	statements = map[string]statement{
		"lock":   {words: "takes the lock", ready: (*thread).lockIsFree, do: (*thread).lock},
		"unlock": {words: "gives the lock back", do: (*thread).unlock},
		"return": {words: "returns", do: (*thread).exit},

		"wait(done)":        {words: "gives the lock back and sleeps", do: func(t *thread) { t.wait("done") }},
		"wait(not_empty)":   {words: "gives the lock back and sleeps", do: func(t *thread) { t.wait("not_empty") }},
		"signal(done)":      {words: "signals", do: func(t *thread) { t.signal("done") }},
		"signal(not_empty)": {words: "signals", do: func(t *thread) { t.signal("not_empty") }},

		"items = items + 1": {words: "puts an item there", do: func(t *thread) { t.run.items++ }},
		"items = items - 1": {words: "takes an item", do: (*thread).takeItem},
		"if items == 0:":    {words: "looks for items", asks: (*thread).noItem},
		"while items == 0:": {words: "looks for items", asks: (*thread).noItem},

		"if queue is empty:":         {words: "looks at the queue", asks: (*thread).noTask},
		"task = pop_front()":         {words: "takes the first task off the queue", do: (*thread).popFront},
		"remove()":                   {ofTask: true, words: "wants to remove the task from the queue", do: (*thread).remove},
		"result = task()":            {ofTask: true, words: "runs the task", do: (*thread).runTask},
		"status = IN_PROGRESS":       {ofTask: true, words: "sets the status to IN_PROGRESS", do: func(t *thread) { t.task.status = fibersync.InProgress }},
		"status = COMPLETED":         {ofTask: true, words: "sets the status to COMPLETED", do: (*thread).complete},
		"if status == NOT_STARTED:":  {ofTask: true, words: "looks at the status", asks: func(t *thread) (bool, string) { return t.task.status == fibersync.NotStarted, t.status() }},
		"while status != COMPLETED:": {ofTask: true, words: "looks at the status", asks: func(t *thread) (bool, string) { return t.task.status != fibersync.Completed, t.status() }},
	}
}

func (t *thread) lockIsFree() bool { return t.run.holder == nil }

func (t *thread) lock() {
	t.run.mutex.Lock()
	t.run.holder = t
}

func (t *thread) unlock() {
	if t.run.holder != t {
		t.run.fail(Misuse, t.name+" gives back a lock that it does not hold.")
		return
	}
	t.run.holder = nil
	t.run.mutex.Unlock()
}

func (t *thread) wait(condition string) {
	if t.run.holder != t {
		t.run.fail(Misuse, t.name+" waits for a signal without holding the lock.")
		return
	}
	t.run.note("unlocks, sleeps")
	t.asleep = condition
	t.run.condition(condition).Wait()
}

func (t *thread) signal(condition string) {
	c := t.run.condition(condition)
	if c.Waiting() == 0 {
		t.run.note("no thread waits")
	}
	c.Signal()
}

func (t *thread) exit() { t.at = len(t.section.Lines) }

func (t *thread) status() string { return "the status " + t.task.status.String() }

func (t *thread) noTask() (bool, string) {
	if len(t.run.queue) == 0 {
		return true, "the queue empty"
	}
	return false, "a task in the queue"
}

func (t *thread) noItem() (bool, string) {
	if t.run.items == 0 {
		return true, "no item"
	}
	return false, "an item"
}

func (t *thread) takeItem() {
	if t.run.items--; t.run.items < 0 {
		t.run.fail(NoItem, t.name+" takes an item, but there is none: items is now -1.")
	}
}

func (t *thread) popFront() {
	if len(t.run.queue) == 0 {
		t.run.fail(Misuse, t.name+" takes a task off an empty queue.")
		return
	}
	t.take(t.run.queue[0])
	if len(t.run.tasks) > 1 {
		t.run.note("the " + t.task.name)
	}
}

// take takes a task that is in the queue.
func (t *thread) take(task *littleTask) {
	t.task, task.taker = task, t
	t.run.queue = slices.DeleteFunc(t.run.queue, func(other *littleTask) bool { return other == task })
}

func (t *thread) remove() {
	if !slices.Contains(t.run.queue, t.task) {
		t.run.note("it is not there: " + t.task.taker.name + " has it")
		return
	}
	t.take(t.task)
}

// runTask runs a task, which may wait for the result of another one.
func (t *thread) runTask() {
	task := t.task
	if task.runs++; task.runs > 1 {
		t.run.fail(RunTwice, fmt.Sprintf("The task runs twice: %s has begun it in step %d, and %s begins it again.",
			task.runner.name, task.begun, t.name))
		return
	}
	task.runner, task.begun = t, len(t.run.result.Turns)
	other := task.waitsFor
	if other == nil {
		return
	}
	if other.result.Future().Ready() {
		t.run.note("the " + other.name + " is done")
		return
	}
	t.run.note("waits for the " + other.name)
	t.awaits = other
	_, _ = other.result.Future().Get() // fails when the execution is over
	t.awaits = nil
	t.run.woken(t)
}

func (t *thread) complete() {
	t.task.status = fibersync.Completed
	t.task.result.TrySet(1)
}
