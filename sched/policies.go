package sched

import (
	"fmt"
	"strings"
)

// Policy decides where ready fibers and tasks wait, what a worker runs next, and which worker to wake.
type Policy uint8

const (
	// Stealing gives each worker its own queues. Idle workers steal tasks; fibers stay
	// with the worker that has begun them. It is the default.
	Stealing Policy = iota
	// RoundRobin has one queue for all workers. Fibers go on wherever a worker is free.
	RoundRobin
	// Group divides the workers into scheduling groups. Those of a group share a queue, and fibers migrate between them. See Groups.
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

// migrates tells whether fibers may migrate.
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
