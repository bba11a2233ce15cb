package demo

import (
	"fmt"
	"slices"

	"fiberlab/sched"
	"fiberlab/sched/fibersync"
)

// mostTurns is after how many turns an execution is ended that does not end by itself.
const mostTurns = 200

// execution runs a program once. Its threads are fibers of one worker. The controller chooses a thread, which runs one
// line, and waits until all threads are blocked again. So one line runs at a time, and the schedule alone decides
// which. All of this is on one OS thread: nothing here needs a lock.
type execution struct {
	scheduler *sched.Scheduler
	threads   []*thread
	result    Interleaving
	over      bool // the threads are to end, wherever they are

	// What the threads share.
	mutex      fibersync.Mutex
	holder     *thread // of mutex
	conditions map[string]*fibersync.Cond
	queue      []*littleTask
	tasks      []*littleTask
	numbers    map[string]int
}

// littleTask is a task of a little program.
type littleTask struct {
	name     string
	status   fibersync.Status
	runs     int         // how often it was begun
	taker    *thread     // the last that has taken it
	runner   *thread     // the first that has begun it
	begun    int         // the step in which it did
	waitsFor *littleTask // whose result it waits for when it runs; or nil
	result   fibersync.Promise[int]
}

// thread is a thread of a little program.
type thread struct {
	name    string
	run     *execution
	section *Section
	at      int // the line that it runs next; it has ended if there is none
	task    *littleTask

	fiber   *sched.Fiber
	turn    bool        // it may run a line
	resting bool        // it waits for a turn
	asleep  string      // the condition that it waits for, with the lock given back
	relocks bool        // it was woken by a signal, and its next turn takes the lock again
	awaits  *littleTask // whose result it waits for
	ended   bool
}

// newExecution starts the program on s. Each thread stands before its first line.
// The caller runs on the only worker of s.
func newExecution(p *Program, s *sched.Scheduler) (*execution, error) {
	e := &execution{scheduler: s, conditions: make(map[string]*fibersync.Cond), numbers: make(map[string]int)}
	byName := make(map[string]*littleTask)
	for _, name := range p.Queue {
		task := &littleTask{name: name, status: fibersync.NotStarted}
		e.tasks, byName[name] = append(e.tasks, task), task
	}
	for name, other := range p.waitsFor {
		byName[name].waitsFor = byName[other]
	}
	e.queue = append(e.queue, e.tasks...)
	for i := range p.Sections {
		for _, name := range p.Sections[i].Names {
			t := &thread{name: name, run: e, section: &p.Sections[i]}
			if len(e.tasks) > 0 {
				t.task = e.tasks[0] // until it takes another one
			}
			e.threads = append(e.threads, t)
		}
	}
	for i, t := range e.threads {
		if err := s.Go(t.body); err != nil {
			e.threads = e.threads[:i] // the others have not begun
			return nil, e.end(err)
		}
	}
	e.settle()
	return e, nil
}

// body is the task of a thread.
func (t *thread) body() {
	defer func() { t.ended = true }()
	t.fiber = sched.Current()
	for t.at < len(t.section.Lines) {
		t.awaitTurn()
		if t.run.over {
			return
		}
		line := t.at
		s, _ := statementOf(t.section.Lines[line].Text)
		switch {
		case s.do != nil:
			if s.do(t); t.at == line { // otherwise it was a return
				t.at = t.section.after(line)
			}
		case t.decides(s):
			t.at++
		default:
			t.at = t.section.otherBlock(line)
		}
	}
}

// decides reports whether the condition of s holds.
func (t *thread) decides(s statement) bool {
	holds, found := s.asks(t)
	answer := "no"
	if holds {
		answer = "yes"
	}
	t.run.note(answer)
	t.run.last().Finds = found
	return holds
}

// awaitTurn blocks the thread until it is given a turn, or the execution is over.
func (t *thread) awaitTurn() {
	t.resting = true
	t.fiber.Wait(nil, func() bool { return t.turn || t.run.over })
	t.resting, t.turn = false, false
}

// ready reports whether the thread could run its line if it were given a turn.
func (t *thread) ready() bool {
	if !t.resting {
		return false
	}
	if t.relocks {
		return t.lockIsFree()
	}
	s, _ := statementOf(t.section.Lines[t.at].Text)
	return s.ready == nil || s.ready(t)
}

// condition returns the condition variable of that name.
func (e *execution) condition(name string) *fibersync.Cond {
	c := e.conditions[name]
	if c == nil {
		c = fibersync.NewCond((*waitersLock)(e))
		e.conditions[name] = c
	}
	return c
}

// waitersLock is the lock as a condition variable sees it: when a waiter was woken, its turn must come before it
// takes the lock again.
type waitersLock execution

func (l *waitersLock) Lock() {
	t := (*execution)(l).current()
	t.run.woken(t)
	t.asleep, t.relocks = "", true
	t.awaitTurn()
	t.relocks = false
	if !l.over {
		t.run.note("locks again")
		t.lock()
	}
}

func (l *waitersLock) Unlock() { (*execution)(l).current().unlock() }

// current is the thread that runs.
func (e *execution) current() *thread {
	f := sched.Current()
	for _, t := range e.threads {
		if t.fiber == f {
			return t
		}
	}
	panic("demo: the caller is no thread of the program")
}

// named returns the thread of that name.
func (e *execution) named(name string) *thread {
	return e.threads[slices.IndexFunc(e.threads, func(t *thread) bool { return t.name == name })]
}

// step gives t, which must be ready, a turn, and returns when it has run its line or is blocked within it.
func (e *execution) step(t *thread) {
	line := t.section.Lines[t.at]
	e.result.Turns = append(
		e.result.Turns, Turn{Thread: t.name, Line: line.Number, Text: line.Text, Relocks: t.relocks},
	)
	t.turn = true
	t.fiber.Notify()
	e.settle()
	if len(e.result.Turns) >= mostTurns {
		e.fail(NoEnd, fmt.Sprintf("The program has not ended after %d turns.", mostTurns))
	}
}

// settle lets the threads run until each is blocked or has ended.
func (e *execution) settle() {
	for slices.ContainsFunc(e.threads, (*thread).moves) {
		sched.Yield()
	}
}

// moves reports whether the thread runs, or is to run, without a turn.
func (t *thread) moves() bool {
	return !t.ended && (t.fiber == nil || t.fiber.State() > sched.Waiting)
}

// end ends all threads, wherever they are, and returns err.
func (e *execution) end(err error) error {
	e.over = true
	for _, c := range e.conditions {
		c.Broadcast()
	}
	for _, task := range e.tasks {
		task.result.TryFail(ErrProgram)
	}
	for _, t := range e.threads {
		for !t.ended {
			if t.fiber != nil {
				t.fiber.Notify()
			}
			sched.Yield()
		}
	}
	return err
}

// last is the turn that goes on.
func (e *execution) last() *Turn { return &e.result.Turns[len(e.result.Turns)-1] }

// note adds to what the present turn has brought about.
func (e *execution) note(what string) { e.last().Notes = append(e.last().Notes, what) }

// woken notes that t goes on because of the present turn.
func (e *execution) woken(t *thread) {
	if !e.over {
		e.last().Wakes = append(e.last().Wakes, t.name)
	}
}
