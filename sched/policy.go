package sched

import (
	"fmt"
	"strings"
)

// Policy decides where what is ready to run waits, what a worker runs next, and whom to wake.
type Policy uint8

const (
	// Stealing gives each worker queues of its own. Idle workers steal tasks; fibers stay
	// with the worker that has begun them. It is the default.
	Stealing Policy = iota
)

var policyNames = [...]string{"stealing"}

// Policies lists the policies that can be chosen, the default one first.
func Policies() []Policy { return []Policy{Stealing} }

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
