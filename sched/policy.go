package sched

import (
	"fmt"
	"strings"

	"fiberlab/internal/clock"
)

// policy decides where ready fibers and tasks wait, what a worker runs next, and which worker to wake. It serves the
// multi-threaded workers; what must run on one worker, and all that belongs to goroutines that are bound, goes past it.
// All methods may be called by several workers at the same time.
type policy interface {
	// wakeOther wakes a worker that sleeps and can take what w has found, if any does.
	wakeOther(w *Worker)
	// submit queues a task that any worker may begin, and wakes a worker if one should be woken. caller is the worker that
	// the call comes from, or nil. It returns false if no worker takes tasks any more.
	submit(t job, caller *Worker) bool
	// has reports whether next would find something for w, if no other worker is quicker.
	has(w *Worker) bool
	// next takes what w runs next.
	next(w *Worker) (runnable, bool)
	// pending is how many tasks wait in w's queues that others may run too; shared is how many tasks and fibers wait in
	// queues of no worker in particular.
	pending(w *Worker) int
	shared() int

	// An idle worker waits in two steps, and each ends by the method beside it. beginSpin asks whether w shall wait
	// awake. After beginSleep, others that bring work find that w sleeps.
	beginSpin(w *Worker) bool
	endSpin(w *Worker)
	beginSleep(w *Worker)
	endSleep(w *Worker)
	// seek brings w work from where other workers have it, if there is any, and reports whether there was. Before w
	// sleeps, last is true, and nothing must be overlooked.
	seek(w *Worker, last bool) bool
	// lookAgain is when w, which is about to sleep, has to seek anew.
	lookAgain(w *Worker) clock.Instant
	// found says that w has found work after it had none, and counts as busy from then on. If w was woken for more than
	// it will do, found wakes another worker.
	found(w *Worker)

	// retire makes w take no more tasks, unless some wait for it. It reports whether it did. reopen takes that back.
	retire(w *Worker) bool
	reopen(w *Worker)
}

// migration is the part of a policy under which fibers may migrate: a fiber that is ready is queued by the policy
// too. Under a policy without it, each fiber stays with the worker that has made it.
type migration interface {
	// ready queues a fiber that is Queued and published, and wakes a worker if one should be woken. There is always
	// room for it. looking is nil, or the caller's worker if that has found nothing to run: since it will take one
	// thing and then call found, no other worker need be woken.
	ready(f *Fiber, looking *Worker)
	// eachGroup calls f for each group of workers between which fibers migrate: their numbers follow one another, and
	// wakeOne wakes one of them, if any sleeps.
	eachGroup(f func(workers []*Worker, wakeOne func()))
}

// batching is the part of a policy that queues many tasks at a time. Under a policy without it, they are submitted one
// by one.
type batching interface {
	// submitAll is submit of several tasks, of which there is at least one, by one caller. It wakes at most as many
	// workers as there are tasks. It returns how many it has queued, which are the first ones: less than all only if no
	// worker takes tasks any more. It does not keep the slice.
	submitAll(tasks []job, caller *Worker) int
}

// submitAll is batching's submitAll under any policy.
func submitAll(p policy, tasks []job, caller *Worker) int {
	if b, ok := p.(batching); ok {
		return b.submitAll(tasks, caller)
	}
	for n, t := range tasks {
		if !p.submit(t, caller) {
			return n
		}
	}
	return len(tasks)
}

// Policy decides where ready fibers and tasks wait, what a worker runs next, and which worker to wake.
type Policy uint8

const (
	// Stealing gives each worker its own queues. Idle workers steal tasks; fibers stay
	// with the worker that has begun them. It is the default.
	Stealing Policy = iota
	// RoundRobin has one queue for all workers. Fibers go on wherever a worker is free.
	RoundRobin
	// Group divides the workers into scheduling groups. Those of a group share a queue, and fibers migrate between
	// them. See Groups.
	Group
)

var policyNames = [...]string{"stealing", "roundrobin", "group"}

// Policies lists the policies that can be chosen, the default one first.
func Policies() []Policy { return []Policy{Stealing, RoundRobin, Group} }

// String returns the name by which ParsePolicy knows p.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy returns the policy of that name; the empty string means the default. The error
// wraps ErrPolicy.
func ParsePolicy(name string) (Policy, error) {
	if name == "" {
		return Stealing, nil
	}
	for p, known := range policyNames {
		if name == known {
			return Policy(p), nil
		}
	}
	return Stealing, fmt.Errorf("%w %q: choose one of %s", ErrPolicy, name, strings.Join(policyNames[:], ", "))
}

// migrates reports whether fibers may migrate.
func (p Policy) migrates() bool { return p != Stealing }

// make returns the policy itself for these workers; groups lays them out under Group.
func (p Policy) make(workers []*Worker, groups Groups) policy {
	switch p {
	case RoundRobin:
		return newRoundRobin(workers)
	case Group:
		return newGroups(workers, groups)
	}
	return newStealing(workers)
}
