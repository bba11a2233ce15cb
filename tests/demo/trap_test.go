package demo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// kinds is what the faulty program of each trap leads to.
var kinds = map[string]demo.FaultKind{
	"signal-before-wait":  demo.NeverWoken,
	"if-for-while":        demo.Negative,
	"status-outside-lock": demo.RunTwice,
	"lock-while-running":  demo.WaitCycle,
}

// shortest is the last turns of the shortest schedule of each faulty program, with their numbers.
var shortest = map[string][]string{
	"signal-before-wait":  {"11 worker: signal(done) [no thread waits]", "12 get: wait(done) [unlocks, sleeps]"},
	"if-for-while":        {"12 consumer A: wait(not_empty) [locks again]", "13 consumer A: items = items - 1 []"},
	"status-outside-lock": {"11 worker: status = IN_PROGRESS []", "12 worker: result = task() []"},
	"lock-while-running": {
		"4 worker 1: result = task() [waits for the child]", "5 worker 2: lock [waits: worker 1 holds it]",
	},
}

func TestTheShortestSchedules(t *testing.T) {
	for _, trap := range demo.Traps() {
		x, err := trap.Faulty.Explore(t.Context(), sched.Config{})
		require.NoError(t, err)
		var all []string
		for i, turn := range x.Shortest.Turns {
			all = append(all, fmt.Sprintf("%d %s: %s %v", i+1, turn.Thread, turn.Text, turn.Notes))
		}
		require.Equal(t, shortest[trap.Name], all[len(all)-2:], trap.Name)
		if trap.Name == "status-outside-lock" {
			require.Contains(t, all, "7 get: remove() [it is not there: worker has it]")
		}
	}
}

// Each trap is shown, and on all fibers alike.
func TestTraps(t *testing.T) {
	first := map[string]string{}
	suite.EachConfig(t, []int{0, 1}, func(t *testing.T, cfg sched.Config) {
		for _, trap := range demo.Traps() {
			shown, err := trap.Show(t.Context(), cfg)
			require.NoError(t, err, trap.Name)
			require.True(t, shown.Verdict, trap.Name)
			require.Positive(t, shown.Goes.Wrong, trap.Name)
			require.Equal(t, map[demo.FaultKind]int{kinds[trap.Name]: shown.Goes.Wrong}, shown.Goes.Kinds, trap.Name)
			require.Zero(t, shown.Then.Wrong, trap.Name)
			require.Nil(t, shown.Then.Shortest, trap.Name)
			require.Nil(t, shown.Replay.Fault, trap.Name)

			text, err := json.Marshal(shown)
			require.NoError(t, err)
			if first[trap.Name] == "" {
				first[trap.Name] = string(text)
			}
			require.Equal(t, first[trap.Name], string(text), "%s: other fibers, other findings", trap.Name)
		}
	})
	require.Len(t, first, len(kinds))
}

// The shortest schedule can be replayed, and no other that goes wrong has fewer turns.
func TestTheShortestScheduleIsReplayed(t *testing.T) {
	suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
		for _, trap := range demo.Traps() {
			x, err := trap.Faulty.Explore(t.Context(), cfg)
			require.NoError(t, err)
			v, err := trap.Faulty.Replay(cfg, x.Shortest.Schedule())
			require.NoError(t, err)
			require.Equal(t, x.Shortest, v, trap.Name)
		}
	})
}

// edited is a program with one change of its text.
func edited(t *testing.T, p *demo.Program, old, replacement string) *demo.Program {
	t.Helper()
	require.Equal(t, 1, strings.Count(p.String(), old), "%q in\n%v", old, p)
	e, err := demo.Parse(strings.Replace(p.String(), old, replacement, 1))
	require.NoError(t, err)
	return e
}

// A repair that is planted in the faulty program takes the fault away; a repair that is taken out of the repaired
// program brings it back. The verdict follows.
func TestPlantedRepairs(t *testing.T) {
	traps := map[string]demo.Trap{}
	for _, trap := range demo.Traps() {
		traps[trap.Name] = trap
	}
	const (
		unlocked = "  result = task()\n  status = COMPLETED\n  signal(done)\nget:"
		locked   = "  result = task()\n  lock\n  status = COMPLETED\n  signal(done)\n  unlock\nget:"
		outside  = "  task = pop_front()\n  unlock\n  status = IN_PROGRESS\n"
		inside   = "  task = pop_front()\n  status = IN_PROGRESS\n  unlock\n"
		held     = "  result = task()\n  status"
		released = "  unlock\n  result = task()\n  lock\n  status"
	)
	for name, edit := range map[string][2]string{
		"signal-before-wait":  {unlocked, locked}, // of the worker; get signals, too, but no worker waits
		"if-for-while":        {"if items", "while items"},
		"status-outside-lock": {outside, inside},
		"lock-while-running":  {held, released},
	} {
		t.Run(name, func(t *testing.T) {
			trap := traps[name]
			trap.Faulty = edited(t, trap.Faulty, edit[0], edit[1])
			shown, err := trap.Show(t.Context(), sched.Config{})
			require.NoError(t, err)
			require.Zero(t, shown.Goes.Wrong, "%v", shown.Goes.Shortest)
			require.Nil(t, shown.Replay)
			require.False(t, shown.Verdict)

			trap = traps[name]
			trap.Repaired = edited(t, trap.Repaired, edit[1], edit[0])
			shown, err = trap.Show(t.Context(), sched.Config{})
			require.NoError(t, err)
			require.Equal(t, shown.Goes.Kinds, map[demo.FaultKind]int{kinds[name]: shown.Goes.Wrong})
			require.Equal(t, map[demo.FaultKind]int{kinds[name]: shown.Then.Wrong}, shown.Then.Kinds)
			require.Positive(t, shown.Then.Wrong)
			require.False(t, shown.Verdict)
		})
	}
}

// Lines that only one of the programs has are marked in it, and no others.
func TestChangesAreMarked(t *testing.T) {
	for _, trap := range demo.Traps() {
		shown, err := trap.Show(t.Context(), sched.Config{})
		require.NoError(t, err)
		without := func(p *demo.Program) (marked int, rest []string) {
			for _, s := range p.Sections {
				for _, l := range s.Lines {
					if l.Changed {
						marked++
					} else {
						rest = append(rest, strings.TrimSpace(l.String()[2:]))
					}
				}
			}
			return marked, rest
		}
		removed, before := without(shown.Faulty)
		added, after := without(shown.Repaired)
		require.Equal(t, before, after, trap.Name)
		require.Positive(t, removed+added, trap.Name)
		require.LessOrEqual(t, removed+added, 4, trap.Name)
	}
}

// The sentences of an interleaving tell each turn once, with its line.
func TestWords(t *testing.T) {
	for _, trap := range demo.Traps() {
		x, err := trap.Faulty.Explore(t.Context(), sched.Config{})
		require.NoError(t, err)
		words := strings.Join(x.Shortest.Words, " ")
		require.Equal(t, len(x.Shortest.Turns), strings.Count(words, "(line "), words)
		require.Equal(t, x.Shortest.Switches()+1, len(x.Shortest.Words), words)
		for _, sentence := range x.Shortest.Words {
			require.Regexp(
				t, `^Steps? \d+( to \d+)?: (worker|worker 1|worker 2|get|consumer A|consumer B|producer) .*\.$`,
				sentence,
			)
		}
	}
}
