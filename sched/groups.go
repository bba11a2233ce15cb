package sched

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"fiberlab/internal/clock"
	"fiberlab/internal/fault"
	"fiberlab/internal/histogram"
	"fiberlab/internal/spinlock"

	"golang.org/x/sys/cpu"
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

// spinTime is how long a worker of a group spins, and lookTime the time between two looks: 10,000 and 1,000 cycles of a
// processor at 2.5 GHz. The cycle counters of other processors tick at other rates: that of arm64 may count 24 million
// a second.
const (
	spinTime = 4 * time.Microsecond
	lookTime = 400 * time.Nanosecond
)

// GroupMode says where what a worker of a group brings waits, and which queue a worker looks at first.
type GroupMode uint8

const (
	// BalanceMode puts everything into the queue that the group shares, at which workers look first, but for one look a
	// round.
	BalanceMode GroupMode = iota
	// AffinityMode puts what a worker brings into its private queue, and a fiber that is ready into that of the worker
	// that ran it last. Workers look at their private queue first, but for one look a round.
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
		return g, fault.Of(
			ErrPolicy,
			fmt.Sprintf(
				"Config.Groups.Size is %d: a scheduling group has at most %d workers: make more groups", g.Size,
				GroupSize,
			),
		)
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

// masks has a bit for each worker of a group in two masks: the workers that spin, and the workers that sleep. It
// decides which of them is woken.
//
// A worker that is brought something to run is claimed: its bit is cleared, by an instruction that reports whether it
// was set, so each worker is claimed for one thing at a time. The lowest bit comes first; under light load the workers
// of higher numbers sleep on.
//
// A submitter stores into a queue and then loads the masks; a worker sets its bit and then loads the queue's counts.
// Between the two each of them has an atomic read and write, which is sequentially consistent in Go: the submitter
// releases the queue's lock of pushes, and the worker's is the one that sets the bit. With less, both loads may come
// before the stores are seen, so neither sees the other's, and the thing waits while the worker sleeps.
type masks struct {
	_        [2]cpu.CacheLinePad // 128 bytes between what different processors write: they fetch lines in pairs
	spinning atomic.Uint64
	_        [2]cpu.CacheLinePad
	sleeping atomic.Uint64
	_        [2]cpu.CacheLinePad
	// A worker that spun has found work, so there is one spinner less: a worker that still spins shall wake another.
	pending atomic.Bool
	_       [2]cpu.CacheLinePad
	// A worker has been claimed for what waits in another group, see wakeThief.
	called atomic.Bool
	_      [2]cpu.CacheLinePad

	spinners int                      // that may spin at once
	wake     func(int) bool           // notifies a worker, and reports whether it was idle
	woken    func(i int, asleep bool) // tells the recorder of a wake-up; nil: there is none
	_        [2]cpu.CacheLinePad
	wakes    wakes
	_        [2]cpu.CacheLinePad
}

// wakes counts the wake-ups of a group; see GroupStats.
type wakes struct {
	none, spinner, sleeper atomic.Uint64
	// when each worker was claimed that sleeps, a clock.Instant; 0: it was not
	claimed [GroupSize]atomic.Int64
	latency histogram.Histogram
}

// claim clears the lowest bit of a mask and returns its number, or -1 if there is none.
func claim(mask *atomic.Uint64) int {
	for m := mask.Load(); m != 0; m = mask.Load() {
		i := bits.TrailingZeros64(m)
		if take(mask, i) {
			return i
		}
		spinlock.Pause() // another submitter was quicker, and may be at the next bit too
	}
	return -1
}

// anyIdle reports whether a worker spins or sleeps.
func (m *masks) anyIdle() bool { return m.spinning.Load()|m.sleeping.Load() != 0 }

// take clears one bit, and reports whether it was set.
func take(mask *atomic.Uint64, i int) bool { return mask.And(^uint64(1<<i))&(1<<i) != 0 }

// wakeOne wakes a worker: it claims a spinning worker, which costs no system call,
// or a sleeping one. A worker that has been notified for something else is passed over. It reports whether
// there was one.
func (m *masks) wakeOne() bool {
	if !m.anyIdle() {
		return false
	}
	for i := claim(&m.spinning); i >= 0; i = claim(&m.spinning) {
		if m.wakeSpinning(i) {
			return true
		}
	}
	return m.wakeSleeper()
}

// wakeSleeper is wakeOne without the spinners.
func (m *masks) wakeSleeper() bool {
	for i := claim(&m.sleeping); i >= 0; i = claim(&m.sleeping) {
		if m.wakeAsleep(i) {
			return true
		}
	}
	return false
}

// wakeThat wakes one worker in particular, unless it is busy or has been claimed for something else: it
// takes one thing at a time. It reports whether it did.
func (m *masks) wakeThat(i int) bool {
	if take(&m.spinning, i) {
		return m.wakeSpinning(i)
	}
	return take(&m.sleeping, i) && m.wakeAsleep(i)
}

// wakeSpinning wakes a worker that has been claimed while it spun. It returns false if that has been notified for
// something else.
func (m *masks) wakeSpinning(i int) bool {
	if !m.wake(i) {
		return false
	}
	m.wakes.spinner.Add(1)
	if m.woken != nil {
		m.woken(i, false)
	}
	return true
}

// wakeAsleep is wakeSpinning for a worker that has been claimed while it slept. The time is stored before the worker is
// notified, so that it finds the time when it wakes.
func (m *masks) wakeAsleep(i int) bool {
	at := int64(clock.Now())
	m.wakes.claimed[i].Store(at)
	if !m.wake(i) {
		m.wakes.claimed[i].CompareAndSwap(at, 0) // something else has woken it
		return false
	}
	m.wakes.sleeper.Add(1)
	if m.woken != nil {
		m.woken(i, true)
	}
	return true
}

// beginSpin sets the bit of a worker that spins from now on, unless enough others do. It reports whether it did. With a
// look at the mask and a later store, too many might.
func (m *masks) beginSpin(i int) bool {
	for {
		old := m.spinning.Load()
		if bits.OnesCount64(old) >= m.spinners {
			return false
		}
		if m.spinning.CompareAndSwap(old, old|1<<i) {
			return true
		}
	}
}

// endSpin clears the bit of a worker that leaves.
func (m *masks) endSpin(i int) { take(&m.spinning, i) }

// beginSleep sets the bit of a worker that is about to sleep; it has to look for work once more then.
func (m *masks) beginSleep(i int) {
	m.wakes.claimed[i].Store(0)
	m.sleeping.Or(1 << i)
}

// endSleep clears the bit of a worker that sleeps no more, and reports whether it had been claimed.
func (m *masks) endSleep(i int) (claimed bool) {
	claimed = !take(&m.sleeping, i)
	if at := m.wakes.claimed[i].Load(); claimed && at != 0 {
		m.wakes.latency.Add(time.Duration(int64(clock.Now()) - at))
	}
	return claimed
}

// leaveWake says that a worker that spun has something to run. If others still spin, they have nothing better to do
// than to wake a worker in its place.
func (m *masks) leaveWake() {
	if n := bits.OnesCount64(m.spinning.Load()); n > 0 && n < m.spinners {
		m.pending.Store(true)
	}
}

// serve wakes a worker if a spinner has left that to the others. A worker that spins calls it.
func (m *masks) serve() {
	if m.pending.Load() && m.pending.Swap(false) {
		m.wakeSleeper()
	}
}
