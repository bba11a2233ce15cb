package demo

import (
	"context"
	"fmt"

	"fiberlab/sched"
)

// Trap is a mistake with condition variables: a program that has it, and the same program repaired.
type Trap struct {
	Name     string   `json:"name"` // as on the command line
	Title    string   `json:"title"`
	Text     string   `json:"text"` // what goes wrong
	Remedy   string   `json:"remedy"`
	Faulty   *Program `json:"faulty"`
	Repaired *Program `json:"repaired"`
}

// Shown is a trap, and what all schedules of its programs lead to.
type Shown struct {
	Trap             // the lines that only one of the programs has are marked
	Goes Exploration `json:"faulty_schedules"`
	Then Exploration `json:"repaired_schedules"`
	// the repaired program under the shortest schedule by which the faulty one goes wrong
	Replay *Interleaving `json:"replay,omitempty"`
	// the faulty program goes wrong under some schedule, and the repaired one under none
	Verdict bool `json:"shown"`
}

// Show runs both programs under all of their schedules, and then the repaired one under the shortest schedule by which
// the faulty one goes wrong. For cfg, the caller and the errors see Program.Explore.
func (t Trap) Show(ctx context.Context, cfg sched.Config) (*Shown, error) {
	s := &Shown{Trap: t}
	s.Faulty, s.Repaired = compared(t.Faulty, t.Repaired)
	var err error
	if s.Goes, err = s.Faulty.Explore(ctx, cfg); err != nil {
		return nil, fmt.Errorf("demo: %s, faulty: %w", t.Name, err)
	}
	if s.Then, err = s.Repaired.Explore(ctx, cfg); err != nil {
		return nil, fmt.Errorf("demo: %s, repaired: %w", t.Name, err)
	}
	if s.Goes.Shortest != nil {
		if s.Replay, err = s.Repaired.Replay(cfg, s.Goes.Shortest.Schedule()); err != nil {
			return nil, fmt.Errorf("demo: %s, repaired: %w", t.Name, err)
		}
	}
	s.Verdict = s.Goes.Wrong > 0 && s.Then.Wrong == 0
	return s, nil
}
