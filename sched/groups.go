package sched

import (
	"fmt"
	"runtime"
	"strings"

	"fiberlab/internal/fault"
)

// Groups lays out the workers of policy [Group]. The zero value is as few groups as possible, of up to 64 workers each.
type Groups struct {
	Size     int       // workers a group, 64 at most; 0: as many as Profile says. The last group has the rest
	Profile  Profile   // how large groups are, if Size is 0
	Spinners int       // workers of a group that may spin at once; 0 means DefaultSpinners, less than 0 none
	Mode     GroupMode // which queue a worker looks at first
	Round    int       // one of so many looks goes to the other queue first; 0 means DefaultRound

	// StealEvery says how often a worker of one group that spins, and finds nothing in it, looks for something in
	// another group: each nth time. Before it sleeps it looks at each of them. 0 is never; a nil StealEvery is
	// DefaultStealEvery for all. It is called once for each two groups, when the scheduler is made.
	StealEvery func(thief, victim int) int
}

// GroupSize is how many workers a group can have.
const GroupSize = 64

// Defaults of Groups, and of Config.MaxQueued under policy Group.
const (
	DefaultSpinners   = 2
	DefaultRound      = 8
	DefaultStealEvery = 16      // flare's
	DefaultRunQueue   = 1 << 16 // tasks that wait to begin
)

// GroupMode says where what a worker of a group brings waits, and which queue a worker looks at first.
type GroupMode uint8

const (
	// BalanceMode puts everything into the queue that the group shares, at which workers look first, but for one look a
	// round.
	BalanceMode GroupMode = iota
	// AffinityMode puts what a worker brings into its private queue, and a ready fiber into the private queue of the
	// worker that ran it last. Workers look at their private queue first, but for one look a round.
	AffinityMode
)

var modeNames = [...]string{"balance", "affinity"}

// String returns the mode's name.
func (m GroupMode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("GroupMode(%d)", uint8(m))
}

// ParseGroupMode returns the mode of that name; the empty string means BalanceMode. The error wraps ErrPolicy.
func ParseGroupMode(name string) (GroupMode, error) {
	if name == "" {
		return BalanceMode, nil
	}
	for m, known := range modeNames {
		if name == known {
			return GroupMode(m), nil
		}
	}
	return BalanceMode, fault.Of(
		ErrPolicy, fmt.Sprintf("no such mode %q of scheduling groups: choose one of %s", name, modes()),
	)
}

// modes lists the names of the modes.
func modes() string { return strings.Join(modeNames[:], ", ") }

// Profile is what the tasks of a scheduler do for most of their time. A group's workers share one queue: the shorter
// the tasks, the more they contend for it, and the smaller a group should be.
type Profile uint8

const (
	// Compute is for tasks that compute for long: groups as large as they can be.
	Compute Profile = iota
	// Neutral is for a mixture: half as many workers a group as there are processors, 16 at most.
	Neutral
	// IO is for many short tasks: a quarter of the processors, 8 at most.
	IO
)

// size is how many workers a group has.
func (p Profile) size() int {
	switch cpus := runtime.GOMAXPROCS(0); p {
	case Neutral:
		return min(max(cpus/2, 1), 16)
	case IO:
		return min(max(cpus/4, 1), 8)
	}
	return GroupSize
}

// checked returns g with its defaults filled in, or says what is wrong with it.
func (g Groups) checked() (Groups, error) {
	switch {
	case g.Size < 0:
		return g, fmt.Errorf("Config.Groups.Size is %d: %w", g.Size, ErrNegative)
	case g.Size > GroupSize:
		return g, fault.Of(ErrPolicy, fmt.Sprintf(
			"Config.Groups.Size is %d: a scheduling group has at most %d workers: make more groups", g.Size, GroupSize,
		))
	case g.Round < 0:
		return g, fmt.Errorf("Config.Groups.Round is %d: %w", g.Round, ErrNegative)
	case int(g.Mode) >= len(modeNames):
		return g, fault.Of(
			ErrPolicy, fmt.Sprintf("Config.Groups.Mode is %v: no such mode: choose one of %s", g.Mode, modes()),
		)
	case g.Profile > IO:
		return g, fault.Of(
			ErrPolicy,
			fmt.Sprintf("Config.Groups.Profile is %d: no such profile: choose one of Compute, Neutral, IO", g.Profile),
		)
	}
	if g.Size == 0 {
		g.Size = g.Profile.size()
	}
	if g.Spinners == 0 {
		g.Spinners = DefaultSpinners
	}
	if g.Round == 0 {
		g.Round = DefaultRound
	}
	return g, nil
}
