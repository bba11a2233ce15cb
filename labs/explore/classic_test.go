package explore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// planted is a program, and the macros that make it faulty, each with the kinds of fault that may be found first.
type planted struct {
	file string
	// exhausted says that all schedules of the correct form are tried; otherwise those with at most two preemptions are.
	exhausted bool
	faults    map[string][]string
}

const (
	race     = "race"
	check    = "check"
	deadlock = "deadlock"
	livelock = "livelock"
)

// classics are programs of the literature, which each file names.
var classics = []planted{
	{"dekker", true, map[string][]string{"RELAXED": {race}, "RELEASE_ACQUIRE": {race}}},
	{"peterson", true, map[string][]string{"RELAXED": {race}, "RELEASE_ACQUIRE": {race}, "TURN_FIRST": {race}}},
	{"hyman", true, map[string][]string{"": {race}}},
	{"bakery", true, map[string][]string{"RELAXED": {race}, "NOT_CHOOSING": {race}}},
	{"chase_lev", true, map[string][]string{
		"NO_TAKE_FENCE": {check}, "NO_STEAL_FENCE": {check}, "NO_PUSH_FENCE": {race}, "RELAXED_STEAL": {race},
		"NO_CAS": {check},
	}},
	{"double_checked", true, map[string][]string{
		"RELAXED": {race}, "PLAIN": {race}, "NO_SECOND_CHECK": {check},
	}},
	{"treiber", true, map[string][]string{"NO_COUNTER": {check, race}, "RELAXED_PUSH": {race}}},
	{"lost_wakeup", true, map[string][]string{
		"SIGNAL_BEFORE_WAIT": {deadlock}, "STATUS_OUTSIDE_LOCK": {race, deadlock}, "IF_FOR_WHILE": {check},
	}},
	{"seqlock", true, map[string][]string{
		"NO_READER_FENCE": {check}, "NO_WRITER_FENCE": {check}, "RELAXED_BEGIN": {check}, "RELAXED_END": {check},
		"PLAIN": {race},
	}},
	{"ticket_lock", true, map[string][]string{
		"TORN_DRAW": {race, check, livelock}, "RELAXED_UNLOCK": {race}, "RELAXED_LOCK": {race},
	}},
	{"mcs_lock", true, map[string][]string{
		"NO_WAIT_FOR_LINK": {livelock, race}, "RELAXED_PASS": {race}, "RELAXED_LINK": {check, livelock},
	}},
	{"bounded_buffer", true, map[string][]string{"ONE_CONDITION": {deadlock}, "IF_FOR_WHILE": {check}}},
	{"readers_writers", true, map[string][]string{"NO_MUTEX": {race, livelock}}},
	{"philosophers", true, map[string][]string{"ALL_LEFT": {deadlock}}},
	{"reference_count", true, map[string][]string{"RELAXED_DROP": {race}, "TORN_DROP": {race, check, "double-free"}}},
}

func TestClassics(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, "")
	for _, p := range sample(classics) {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			p.check(t, tools, "classic/")
		})
	}
}

// Both compilers mark the same accesses: a sample has the same verdicts, and the same numbers of schedules.
func TestCompilersAgree(t *testing.T) {
	t.Parallel()
	gcc, other := toolsOf(t, ""), toolsOf(t, clang(t))
	for _, sample := range [][2]string{
		{"classic/chase_lev.c", "NO_TAKE_FENCE"}, {"classic/mcs_lock.c", ""}, {"own/eventcount.c", ""},
	} {
		t.Run(sample[0], func(t *testing.T) {
			t.Parallel()
			a := searched(t, gcc, sample[0], macros(sample[1]), explore.Options{})
			b := searched(t, other, sample[0], macros(sample[1]), explore.Options{})
			require.Equal(t, a.Verdict, b.Verdict)
			require.Equal(t, a.Schedules, b.Schedules)
			require.Equal(t, a.Schedule, b.Schedule)
		})
	}
}

// check finds each fault, and none in the correct form.
func (p planted) check(t *testing.T, tools *explore.Runtime, folder string) {
	t.Helper()
	for macro, kinds := range p.faults {
		t.Run(macro, func(t *testing.T) {
			t.Parallel()
			r := searched(t, tools, folder+p.file+".c", macros(macro), explore.Options{})
			require.NotNil(t, r.Fault)
			require.Contains(t, kinds, r.Fault.Kind)
			require.NotEmpty(t, r.Steps)
		})
	}
	t.Run("correct", func(t *testing.T) {
		t.Parallel()
		var correct []string
		if _, faulty := p.faults[""]; faulty {
			correct = []string{"CORRECT"}
		}
		o := explore.Options{Preemptions: 2}
		if p.exhausted {
			o.Preemptions = 0
		}
		r := searched(t, tools, folder+p.file+".c", correct, o)
		t.Logf("%d schedules, %d pruned, in %.2f s", r.Schedules, r.Pruned, r.Seconds)
		require.Nil(t, r.Fault)
		require.True(t, r.Complete)
	})
}

// macros returns the macro, if there is one.
func macros(macro string) []string {
	if macro == "" {
		return nil
	}
	return []string{macro}
}
