package sched

import (
	"fmt"
	"slices"
	"strings"

	"fiberlab/internal/fault"
)

// policy decides where tasks and ready fibers wait, what a worker runs next, and which worker is woken for it. It
// serves the multi-threaded workers. What must run on one worker, and all that a bound goroutine runs, does not pass
// through it.
//
// Each method names its callers: "Any thread" at any time, or only "w", on its thread. Several calls may run at once.
// No caller holds a lock of package sched, but the callers of Notify may hold locks of their own. So a method blocks
// only for a lock of the policy, which is held for moments, and it calls no function of the user.
//
// The contract promises no order, but two things. Each entry is taken after finitely many others, so nothing starves.
// No entry waits while a worker that may take it sleeps. For that, a caller queues its entry, and then looks for a
// sleeper. A worker marks itself as asleep, and then looks for entries.
type policy interface {
	// submit queues a task that any worker may begin, and wakes a worker if one should be woken. Any thread. caller is
	// the worker that the call comes from, or nil. It returns false if the queues are closed, unless caller is a
	// multi-threaded worker.
	submit(t runnable, caller *Worker) bool
	// next takes what w runs next, if there is anything. w.
	next(w *Worker) (runnable, bool)
	// has reports whether next would find something for w, if no other worker is quicker. w.
	has(w *Worker) bool
	// pending is how many tasks and fibers wait in the queues that w takes from; nil stands for all workers. Any thread.
	pending(w *Worker) int
	// wakeOther wakes a worker that is idle and can take what w has found, if there is one. w.
	wakeOther(w *Worker)

	// seek brings w work from other workers if w has none, and reports whether next finds something now, if no other
	// worker is quicker. w. last is true in the last look before w sleeps: then w is in its idle.Set already. In that
	// look, seek may leave tasks only to a worker that is just being woken.
	seek(w *Worker, last bool) bool
	// found says that w has found work after it had none, and counts as busy from then on. w. If w was woken for more
	// than it will do, found wakes another worker.
	found(w *Worker)

	// setClosed makes all queues refuse tasks, or take them again. They never refuse a task that a worker submits to a
	// queue of its own group. Any thread.
	setClosed(closed bool)
}

// migration is what a policy also implements if fibers may migrate: it queues ready fibers too. Under any other policy,
// each fiber remains on the worker that has begun it.
type migration interface {
	// ready queues f, which is Queued and published, and always has room for it. It wakes a worker if one should be
	// woken. Any thread. caller is the worker that the call comes from, or nil. If caller is looking for something to
	// run, it takes one entry and calls found, so ready need wake no other one.
	ready(f *Fiber, caller *Worker)
	// nextFiber takes the first entry if that is a fiber, else nothing. If past is true, it takes the first fiber, even
	// if tasks come before it: w can begin no task then. w.
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

// String returns the name that ParsePolicy takes for p, or "Policy(number)" if p is none of the policies.
func (p Policy) String() string { return nameOf(policyNames[:], uint8(p), "Policy") }

// nameOf returns names[number]. If there is no such name, it returns kind and the number, as "Policy(7)".
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

// make returns what implements p for these workers, and puts them into its idle.Set. It must be called before they run.
// Under Group, groups says how to divide them, and each group has its own idle.Set and one arena.
func (p Policy) make(workers []*Worker, groups Groups) policy {
	switch p {
	case RoundRobin:
		return newRoundRobin(workers)
	case Group:
		return newGroups(workers, groups)
	}
	return newStealing(workers)
}
