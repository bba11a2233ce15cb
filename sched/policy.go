package sched

import (
	"fmt"
	"slices"
	"strings"

	"fiberlab/internal/fault"
)

// policy decides where tasks and ready fibers wait, what a worker runs next, and which worker is woken for it. It
// serves the multi-threaded workers. What must run on one worker, and all of a bound goroutine, does not pass through
// it.
//
// "Any thread" may call a method at any time, for several workers at once. "w" means that w alone calls it, on its
// thread. No caller holds a lock of package sched, but the callers of Notify may hold locks of their own. So no method
// blocks for more than a lock of the policy, which is held for moments, and none calls a function of the user.
//
// Order is not part of the contract: no task may count on being begun before another. Two things are. What is queued
// is taken after finitely many others, so nothing starves. And nothing that can run waits while a worker sleeps. A
// caller queues its entry, then looks for a sleeper; a worker lets itself be seen to sleep, then looks for entries.
type policy interface {
	// submit queues a task that any worker may begin, and wakes a worker if one should be woken. Any thread. caller is
	// the worker that the call comes from, or nil. It returns false if the queues are closed and caller, if there is
	// one, is no multi-threaded worker.
	submit(t runnable, caller *Worker) bool
	// next takes what w runs next, if there is anything. w.
	next(w *Worker) (runnable, bool)
	// has reports whether next would find something for w, if no other worker is quicker. w.
	has(w *Worker) bool
	// pending is how many tasks and fibers wait in the queues that w takes from; nil stands for all workers. Any thread.
	pending(w *Worker) int
	// wakeOther wakes a worker that sleeps and can take what w has found, if any does. w.
	wakeOther(w *Worker)

	// seek brings w work from where other workers have it, if there is any, and reports whether there was: next finds it
	// then, if no other worker is quicker. w. Before w sleeps, when others that bring work find it in its idle.Set, last
	// is true, and nothing must be overlooked.
	seek(w *Worker, last bool) bool
	// found says that w has found work after it had none, and counts as busy from then on. w. If w was woken for more
	// than it will do, found wakes another worker.
	found(w *Worker)

	// setClosed makes all queues refuse tasks of callers that run on no worker, or take them again. Any thread.
	setClosed(closed bool)
}

// migration is the part of a policy under which fibers may migrate: it queues ready fibers too. Under a policy without
// it, each fiber remains on the worker that has begun it.
type migration interface {
	// ready queues a fiber that is Queued and published, and wakes a worker if one should be woken. Any thread. There
	// is always room for it. caller is the worker that the call comes from, or nil. It mostly takes f itself, soon; if
	// it has found nothing to run it will take one entry and then call found, so no other worker need be woken.
	ready(f *Fiber, caller *Worker)
	// leaves is for a worker that was idle and has found an entry. If that is a fiber which another worker has notified,
	// w leaves it to that worker for a moment. leaves reports whether it is gone, and nothing else is there. w.
	leaves(w *Worker) bool
	// nextFiber is next for a worker that takes a fiber or nothing: the first entry, if that is a fiber. If past is
	// true, tasks before it do not count: w can begin none. w.
	nextFiber(w *Worker, past bool) *Fiber
}

// Policy decides where ready fibers and tasks wait, what a worker runs next, and which worker to wake.
type Policy uint8

const (
	// Stealing gives each worker a queue for itself. Idle workers steal tasks; a fiber remains on the worker that has
	// begun it. It is the default.
	Stealing Policy = iota
	// RoundRobin has one queue for all workers. A fiber continues wherever a worker is free.
	RoundRobin
	// Group divides the workers into scheduling groups. The workers of a group share a queue, and fibers migrate between
	// them. See Groups.
	Group
)

var policyNames = [...]string{"stealing", "roundrobin", "group"}

// Policies lists the policies that can be chosen, the default first.
func Policies() []Policy { return []Policy{Stealing, RoundRobin, Group} }

// String returns the name by which ParsePolicy knows p.
func (p Policy) String() string { return nameOf(policyNames[:], uint8(p), "Policy") }

// nameOf returns the name of that number, or for a number that has none kind and the number.
func nameOf(names []string, number uint8, kind string) string {
	if int(number) < len(names) {
		return names[number]
	}
	return fmt.Sprintf("%s(%d)", kind, number)
}

// numberOf returns the index of name in names, or 0, the default, if name is empty. The error wraps ErrPolicy. kind is
// the word that the text of the error puts before the name.
func numberOf[T ~uint8](names []string, name, kind string) (T, error) {
	if i := slices.Index(names, name); i >= 0 || name == "" {
		return T(max(i, 0)), nil
	}
	return 0, noSuch(fmt.Sprintf("%s %q", kind, name), names)
}

// noSuch returns an error that wraps ErrPolicy. Its text says "no such" and what, and lists the names to choose from.
func noSuch(what string, names []string) error {
	return fault.Of(ErrPolicy, fmt.Sprintf("no such %s: choose one of %s", what, strings.Join(names, ", ")))
}

// ParsePolicy returns the policy of that name; the empty string means the default. The error wraps ErrPolicy.
func ParsePolicy(name string) (Policy, error) {
	return numberOf[Policy](policyNames[:], name, "policy")
}

// migrates reports whether fibers may migrate.
func (p Policy) migrates() bool { return p != Stealing }

// make returns the policy itself for these workers. It puts them into its idle.Set. Under Group, it lays
// them out as groups says, and each group has one arena.
func (p Policy) make(workers []*Worker, groups Groups) policy {
	switch p {
	case RoundRobin:
		return newRoundRobin(workers)
	case Group:
		return newGroups(workers, groups)
	}
	return newStealing(workers)
}
