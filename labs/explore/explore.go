// Package explore finds the faults of concurrent C programs by trying their schedules.
//
// A program is plain C11 that defines explore_test and may call what runtime/explore.h declares. Build compiles it with
// -fsanitize=thread, so that the compiler puts a call at each access to memory that threads may share. It links the
// program with the functions of the folder runtime, and not with the compiler's. There each thread is a fiber, and each
// of these calls is a place where another thread may go on. Run starts the program, which runs explore_test once for
// each schedule that it tries. Result.Write shows a schedule that fails, by the lines of the source.
//
// A program runs with all the rights of its caller: explore only programs that you would run.
package explore

import (
	"errors"
	"math"
	"strconv"

	_ "fiberlab/internal/platform/system" // ends a build for another system with one line
)

// ErrNoInstrumentation says that the C compiler cannot mark the accesses to memory.
var ErrNoInstrumentation = errors.New(
	"the C compiler has no -fsanitize=thread with -fsanitize-coverage=trace-pc: take gcc or clang for this machine",
)

// ErrSchedule says that Options.Replay is no schedule, or one of another program.
var ErrSchedule = errors.New("this is no schedule of this program: give one that a report has printed")

// BuildError is what the compiler said of a program that does not build.
type BuildError struct{ Said string }

func (e *BuildError) Error() string { return "the program does not build:\n" + e.Said }

// Verdict is whether a schedule fails.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass" // of the schedules that were tried none fails
	Fail Verdict = "fail"
)

// Result is what a search found.
type Result struct {
	Verdict   Verdict  `json:"verdict"`
	Complete  bool     `json:"complete"`          // every schedule was tried, or every one within Bound preemptions
	Bound     int      `json:"bound"`             // no schedule with at most so many preemptions fails; -1: see Complete
	Schedules int      `json:"schedules"`         // that were run
	Pruned    int      `json:"executions_pruned"` // that were given up since they are equal to others
	Seconds   float64  `json:"seconds"`
	Seed      uint64   `json:"seed"`
	Random    int      `json:"random"`        // of Schedules, those that were drawn
	PCT       *PCT     `json:"pct,omitempty"` // of a pass by random schedules, if the bound holds
	Outcomes  []uint32 `json:"outcomes"`
	Fault     *Fault   `json:"fault,omitempty"`
	Schedule  string   `json:"schedule,omitempty"` // the one that fails, for Options.Replay
	Steps     []Step   `json:"steps,omitempty"`    // of that one
	// Entered are addresses in the functions that were called after the last of Steps.
	Entered []Address `json:"entered,omitempty"`

	// NoReturn is the first of Steps after which every schedule fails; -1: they all fail from the start on. It is nil if
	// there were too many to try, or Options.Replay was set.
	NoReturn *int `json:"no_return,omitempty"`

	program *Program
	options Options
}

// PCT is what the bound of probabilistic concurrency testing depends on. It is about faults that need d orderings of
// steps, so d-1 preemptions, and no load of an old value. Each of Schedules finds such a fault with a probability of at
// least 1 / (Divisor * Threads * Choices^(d-1)).
type PCT struct {
	Threads   int `json:"threads"`
	Choices   int `json:"choices"` // of a thread, at most, in a schedule
	Divisor   int `json:"divisor"`
	Schedules int `json:"schedules"`
}

// Missed returns at most how probable it is that no schedule has found a fault that d orderings lead to.
func (p *PCT) Missed(d int) float64 {
	found := 1 / (float64(p.Divisor*p.Threads) * math.Pow(float64(p.Choices), float64(d-1)))
	return math.Exp(float64(p.Schedules) * math.Log1p(-found))
}

// Fault is how a schedule fails.
type Fault struct {
	// Kind is check, race, deadlock, livelock, use-after-free, double-free, crash, abort, limit, double-take or lost.
	Kind  string `json:"kind"`
	Claim string `json:"claim,omitempty"` // of a check: what does not hold
	Text  string `json:"text"`            // one sentence
	A     int    `json:"a"`               // the steps that it is about, from 0; -1: none
	B     int    `json:"b"`
	Waits []Wait `json:"waits,omitempty"` // of a deadlock or livelock: each thread that has not ended
}

// Wait is what a thread waits for.
type Wait struct {
	Thread  int     `json:"thread"`
	PC      Address `json:"pc"`
	For     string  `json:"for"` // lock, join, park, spin, or stop: it has stopped and never goes on
	Address Address `json:"address"`
	Holder  int     `json:"holder"` // the thread that holds the lock, or that is joined; -1: none
}

// Step is one operation of a thread.
type Step struct {
	Thread    int     `json:"thread"`
	PC        Address `json:"pc"`
	Op        string  `json:"op"`
	Order     string  `json:"order,omitempty"` // rlx, acq, rel, acq_rel or sc
	Address   Address `json:"address,omitempty"`
	Size      int     `json:"size,omitempty"`
	Value     *uint64 `json:"value,omitempty"`  // that was read
	Stored    *uint64 `json:"stored,omitempty"` // that was written
	From      *int    `json:"from,omitempty"`   // the step that wrote Value; -1: none did, it is the first one
	Stale     bool    `json:"stale"`            // a newer value had been written
	Preempted bool    `json:"preempted"`        // the thread before could have gone on
	Note      string  `json:"note,omitempty"`
	Block     int     `json:"block,omitempty"`  // of Address: the number of the allocation in this schedule, from 1
	Offset    int     `json:"offset,omitempty"` // in it
	// Callers are where the functions around PC were called, the innermost first, 8 at most.
	Callers []Address `json:"callers,omitempty"`
	// Entered are addresses in the functions that the thread has called since its last step.
	Entered []Address `json:"entered,omitempty"`
}

// Address is an address in the program. JSON has it as a string, in hexadecimal.
type Address uint64

// MarshalText returns the address as 0x and hexadecimal digits.
func (a Address) MarshalText() ([]byte, error) {
	return strconv.AppendUint([]byte("0x"), uint64(a), 16), nil
}

// UnmarshalText reads what MarshalText returns.
func (a *Address) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 64)
	*a = Address(n)
	return err
}
