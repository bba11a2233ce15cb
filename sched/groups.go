package sched

import (
	"cmp"
	"fmt"

	"fiberlab/internal/fault"
)

// Groups lays out the workers of policy [Group]. The zero value is as few groups as possible, of up to 64 workers each.
// A group's workers share one queue: the shorter the tasks, the more they contend for it, and the smaller a group
// should be.
type Groups struct {
	Size     int       // workers a group, 64 at most; 0 means GroupSize. The last group has the rest
	Spinners int       // workers of a group that may spin at once; 0 means DefaultSpinners, less than 0 none
	Mode     GroupMode // which queue a worker looks at first

	// StealEvery returns n: a spinning worker of group thief looks in group victim each nth time that its own group has
	// nothing. Before it sleeps, it looks in each victim. If n is less than 1, it never does. A nil StealEvery always
	// returns DefaultStealEvery. New calls it once for each thief and victim.
	StealEvery func(thief, victim int) int
}

// GroupSize is how many workers a group can have.
const GroupSize = 64

// Defaults of Groups, and of Config.MaxQueued under policy Group.
const (
	DefaultSpinners   = 2
	DefaultStealEvery = 16      // flare's
	DefaultRunQueue   = 1 << 16 // tasks that wait to begin
)

// round is how many looks of a worker at its two queues make a round. One look of each begins at the other queue.
const round = 8

// GroupMode says into which queue a worker of a group puts tasks and fibers, and which queue a worker looks at first.
type GroupMode uint8

const (
	// BalanceMode puts everything into the queue that the group shares. Workers look at that queue first, except in one
	// look of each round.
	BalanceMode GroupMode = iota
	// AffinityMode puts a worker's tasks into its private queue, and mostly a ready fiber into the private queue of the
	// worker that ran it last. Workers look at their private queue first, except in one look of each round.
	AffinityMode
)

var modeNames = [...]string{"balance", "affinity"}

// String returns the mode's name.
func (m GroupMode) String() string { return nameOf(modeNames[:], uint8(m), "GroupMode") }

// ParseGroupMode returns the mode of that name; the empty string means BalanceMode. The error wraps ErrPolicy.
func ParseGroupMode(name string) (GroupMode, error) {
	return numberOf[GroupMode](modeNames[:], name, "mode of scheduling groups")
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
	case int(g.Mode) >= len(modeNames):
		return g, fmt.Errorf("Config.Groups.Mode is %v: %w", g.Mode, noSuch("mode", modeNames[:]))
	}
	g.Size = cmp.Or(g.Size, GroupSize)
	g.Spinners = cmp.Or(g.Spinners, DefaultSpinners)
	if g.StealEvery == nil {
		g.StealEvery = func(int, int) int { return DefaultStealEvery }
	}
	return g, nil
}

// GroupStats counts what the workers of one scheduling group have done.
type GroupStats struct {
	Group   int    // its number
	Workers int    // how many it has
	Done    uint64 // tasks that have ended on them

	// What became of the wake-ups that the group's queues asked for.
	NoWorker uint64 // all workers were busy: the next that is free will look
	Spinners uint64 // a worker that spun was notified
	Sleepers uint64 // a worker that slept was woken

	StolenWithin uint64 // tasks and fibers that a worker has taken over from another worker's private queue
	StolenAcross uint64 // tasks and fibers that have been stolen from other groups
}

// stats reads what g has counted. No worker stops for it: the counts may be of slightly different moments.
func (g *group) stats() GroupStats {
	s := GroupStats{
		Group: g.number, Workers: len(g.workers),
		NoWorker: g.none.Load(), Spinners: g.idle.Spinners.Load(), Sleepers: g.idle.Sleepers.Load(),
	}
	for i, m := range g.members {
		s.StolenWithin += m.within.load()
		s.StolenAcross += m.across.load()
		s.Done += g.workers[i].tasksDone.load()
	}
	return s
}
