package demo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"fiberlab/sched/fibersync"
)

// Grammar says for users how a little program is written: Parse reads what it describes. The first indented block is a
// program; the others list lines, each with what it does.
const Grammar = `A program is a text. A line without indentation names threads, and the lines below it are what each of
them runs. Two spaces more begin a block. A line that begins with # is a remark.

    # The signal may come between the look at the number and the wait.
    waiter:
      lock
      if done == 0:
        wait(changed)
      unlock
    signaller:
      done = done + 1
      signal(changed)

The threads share one lock, numbers and conditions. A number or a condition has any name of letters, digits and
underscores. A number is 0 at first; a program that takes it below 0 goes wrong.

    lock                take the lock; wait while another thread holds it
    unlock              give the lock back
    wait(changed)       give the lock back, sleep until a signal, take it again
    signal(changed)     wake one thread that sleeps on the condition
    broadcast(changed)  wake all of them
    done = done + 1     add 1 to the number
    done = done - 1     take 1 from the number
    if done == 0:       run the block if this holds; also with != < > and
                        other numbers
    else:               run the other block of the if
    while done == 0:    run the block as long as this holds
    return              end the thread

A program with tasks names them in its first line, the front of the queue first:

    queue: parent waits for child, child

Each thread has the first task until it takes another one. These lines are about tasks:

    if queue is empty:          run the block if the queue has no task
    task = pop_front()          take the first task off the queue
    remove()                    take the task off the queue, if it is there
    result = task()             run the task, which may wait for another one
    status = IN_PROGRESS        set the status of the task
    status = COMPLETED          set it, and hand the result to those that wait
    if status == NOT_STARTED:   run the block if the task has that status
    while status != COMPLETED:  run the block until the task has that status
`

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

// statementOf returns what a line means; ok is false if it means nothing.
func statementOf(line string) (s statement, ok bool) {
	if s, ok = statements[line]; ok {
		return s, true
	}
	switch words := strings.Fields(line); len(words) {
	case 1: // wait(done)
		what, rest, _ := strings.Cut(line, "(")
		name, closed := strings.CutSuffix(rest, ")")
		return ofCondition(
				what, name,
			), closed && isName(name) &&
				slices.Contains([]string{"wait", "signal", "broadcast"}, what)
	case 4: // while items == 0:
		last, begins := strings.CutSuffix(words[3], ":")
		limit, err := strconv.Atoi(last)
		holds := comparisons[words[2]]
		return ofComparison(words[1], holds, limit),
			begins && err == nil && holds != nil && isName(words[1]) &&
				slices.Contains([]string{"if", "while"}, words[0])
	case 5: // items = items + 1
		return ofSum(words[0], words[3]), words[1] == "=" && words[2] == words[0] && isName(words[0]) &&
			slices.Contains([]string{"+", "-"}, words[3]) && words[4] == "1"
	}
	return statement{}, false
}

// isName reports whether a condition or a number may have that name.
func isName(word string) bool {
	return word != "" &&
		!strings.ContainsFunc(
			word, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) },
		)
}

// comparisons are the signs between a number of the program and a constant.
var comparisons = map[string]func(n, limit int) bool{
	"==": func(n, limit int) bool { return n == limit },
	"!=": func(n, limit int) bool { return n != limit },
	"<":  func(n, limit int) bool { return n < limit },
	">":  func(n, limit int) bool { return n > limit },
}

func ofCondition(what, name string) statement {
	switch what {
	case "wait":
		return statement{words: "gives the lock back and sleeps", do: func(t *thread) { t.wait(name) }}
	case "signal":
		return statement{words: "signals", do: func(t *thread) { t.signal(name) }}
	}
	return statement{words: "wakes all sleepers", do: func(t *thread) { t.broadcast(name) }}
}

func ofSum(name, sign string) statement {
	if sign == "+" {
		return statement{words: "adds 1 to " + name, do: func(t *thread) { t.run.numbers[name]++ }}
	}
	return statement{words: "takes 1 from " + name, do: func(t *thread) { t.takeOne(name) }}
}

func ofComparison(name string, holds func(n, limit int) bool, limit int) statement {
	return statement{words: "looks at " + name, asks: func(t *thread) (bool, string) {
		n := t.run.numbers[name]
		return holds(n, limit), fmt.Sprintf("%s = %d", name, n)
	}}
}

// statements are the lines without a name to choose. They are filled in by init since they refer to executions,
// which look lines up by statementOf.
var statements map[string]statement

func init() {
	statements = map[string]statement{
		"lock":   {words: "takes the lock", ready: (*thread).lockIsFree, do: (*thread).lock},
		"unlock": {words: "gives the lock back", do: (*thread).unlock},
		"return": {words: "returns", do: (*thread).exit},

		"if queue is empty:": {words: "looks at the queue", asks: (*thread).noTask},
		"task = pop_front()": {words: "takes the first task off the queue", do: (*thread).popFront},
		"remove()": {
			ofTask: true, words: "wants to remove the task from the queue", do: (*thread).remove,
		},
		"result = task()": {ofTask: true, words: "runs the task", do: (*thread).runTask},
		"status = IN_PROGRESS": {
			ofTask: true, words: "sets the status to IN_PROGRESS",
			do: func(t *thread) { t.task.status = fibersync.InProgress },
		},
		"status = COMPLETED": {ofTask: true, words: "sets the status to COMPLETED", do: (*thread).complete},
		"if status == NOT_STARTED:": {
			ofTask: true, words: "looks at the status",
			asks: func(t *thread) (bool, string) { return t.task.status == fibersync.NotStarted, t.status() },
		},
		"while status != COMPLETED:": {
			ofTask: true, words: "looks at the status",
			asks: func(t *thread) (bool, string) { return t.task.status != fibersync.Completed, t.status() },
		},
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

func (t *thread) broadcast(condition string) {
	c := t.run.condition(condition)
	if c.Waiting() == 0 {
		t.run.note("no thread waits")
	}
	c.Broadcast()
}

func (t *thread) exit() { t.at = len(t.section.Lines) }

func (t *thread) status() string { return "the status " + t.task.status.String() }

func (t *thread) noTask() (bool, string) {
	if len(t.run.queue) == 0 {
		return true, "the queue empty"
	}
	return false, "a task in the queue"
}

func (t *thread) takeOne(name string) {
	if t.run.numbers[name]--; t.run.numbers[name] < 0 {
		t.run.fail(Negative, fmt.Sprintf("%s takes 1 from %s, which was 0: %s is now -1.", t.name, name, name))
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
