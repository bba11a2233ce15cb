package explore_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
)

// planted is a program, and the macros that make it faulty, each with the kinds of fault that may be found first.
type planted struct {
	file   string
	faults map[string][]string
	// harmless are macros that change no behaviour, each with the reason.
	harmless map[string]string
}

const (
	race     = "race"
	check    = "check"
	twice    = "double-take"
	lost     = "lost"
	deadlock = "deadlock"
	livelock = "livelock"
)

// classics are programs of the literature, which each file names.
var classics = []planted{
	{file: "dekker", faults: map[string][]string{"RELAXED": {race}, "RELEASE_ACQUIRE": {race}}},
	{file: "peterson", faults: map[string][]string{"RELAXED": {race}, "RELEASE_ACQUIRE": {race}, "TURN_FIRST": {race}}},
	{file: "hyman", faults: map[string][]string{"": {race}}},
	{file: "bakery", faults: map[string][]string{"RELAXED": {race}, "NOT_CHOOSING": {race}}},
	{file: "chase_lev", faults: map[string][]string{
		"NO_TAKE_FENCE": {twice}, "NO_STEAL_FENCE": {twice}, "NO_PUSH_FENCE": {race}, "RELAXED_STEAL": {race},
		"NO_CAS": {twice},
	}},
	{file: "double_checked", faults: map[string][]string{
		"RELAXED": {race}, "PLAIN": {race}, "NO_SECOND_CHECK": {check},
	}},
	{file: "treiber", faults: map[string][]string{"NO_COUNTER": {check, race}, "RELAXED_PUSH": {race}}},
	{file: "lost_wakeup", faults: map[string][]string{
		"SIGNAL_BEFORE_WAIT": {deadlock}, "STATUS_OUTSIDE_LOCK": {race, deadlock}, "IF_FOR_WHILE": {check},
	}},
	{file: "seqlock", faults: map[string][]string{
		"NO_READER_FENCE": {check}, "NO_WRITER_FENCE": {check}, "RELAXED_BEGIN": {check}, "RELAXED_END": {check},
		"PLAIN": {race},
	}},
	{file: "ticket_lock", faults: map[string][]string{
		"TORN_DRAW": {race, check, livelock}, "RELAXED_UNLOCK": {race}, "RELAXED_LOCK": {race},
	}},
	{file: "mcs_lock", faults: map[string][]string{
		"NO_WAIT_FOR_LINK": {livelock, race}, "RELAXED_PASS": {race}, "RELAXED_LINK": {check, livelock},
	}},
	{file: "bounded_buffer", faults: map[string][]string{"ONE_CONDITION": {deadlock}, "IF_FOR_WHILE": {check}}},
	{file: "readers_writers", faults: map[string][]string{"NO_MUTEX": {race, livelock}}},
	{file: "readers_pass", faults: map[string][]string{"NO_TURNSTILE": {check}}},
	{file: "philosophers", faults: map[string][]string{"ALL_LEFT": {deadlock}}},
	{file: "ring", faults: map[string][]string{
		"RELAXED_PUSH": {race}, "RELAXED_POP": {race}, "OFF_BY_ONE": {race, check},
	}},
	{file: "reference_count", faults: map[string][]string{
		"RELAXED_DROP": {race}, "TORN_DROP": {race, check, "double-free"},
	}},
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
			a := searched(t, gcc, sample[0], macros(sample[1]), explore.Options{Time: time.Hour})
			b := searched(t, other, sample[0], macros(sample[1]), explore.Options{Time: time.Hour})
			require.Equal(t, a.Verdict, b.Verdict)
			require.Equal(t, a.Schedules, b.Schedules)
			require.Equal(t, a.Schedule, b.Schedule)
		})
	}
}

// A quiet processor tries so many schedules in a second.
const ofASecond = 500_000

// check finds each fault within a second, and none in the correct form, all of whose schedules are tried.
func (p planted) check(t *testing.T, tools *explore.Runtime, folder string) {
	t.Helper()
	for macro, kinds := range p.faults {
		t.Run(macro, func(t *testing.T) {
			t.Parallel()
			r := searched(t, tools, folder+p.file+".c", macros(macro), explore.Options{})
			require.NotNil(t, r.Fault)
			require.Contains(t, kinds, r.Fault.Kind)
			require.NotEmpty(t, r.Steps)
			require.Less(t, r.Schedules, ofASecond)
			require.LessOrEqual(t, len(r.Schedule), 80)
		})
	}
	correct := ""
	if _, faulty := p.faults[""]; faulty {
		correct = "CORRECT"
	}
	clean := map[string]string{correct: "it is correct"}
	maps.Copy(clean, p.harmless)
	for macro, why := range clean {
		t.Run("clean "+macro, func(t *testing.T) {
			t.Parallel()
			// It ends when all are tried, however slow the machine is.
			r := searched(t, tools, folder+p.file+".c", macros(macro), explore.Options{Time: time.Hour})
			t.Logf("%d schedules, %d pruned, in %.2f s", r.Schedules, r.Pruned, r.Seconds)
			require.Nil(t, r.Fault, "%s", why)
			require.True(t, r.Complete)
		})
	}
}

// macros returns the macro, if there is one.
func macros(macro string) []string {
	if macro == "" {
		return nil
	}
	return []string{macro}
}

// The text of a schedule that fails names the fault, and fits its columns.
func TestText(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, "")
	for _, c := range []struct {
		file, macro string
		says        []string
	}{
		{"philosophers", "ALL_LEFT", []string{
			"A schedule fails: a deadlock of 3 locks: each is held by a thread that waits for another one.",
			"Thread 1 waits in philosophers.c:25 for forks[1], which thread 2 holds.",
			"From step 6 on, every schedule fails.", // the last of them takes the first fork
		}},
		{"lost_wakeup", "SIGNAL_BEFORE_WAIT", []string{
			"a lost or missing wake-up", "Thread 0 waits in condition.h:25 for an unpark.", "reads done.count = 0",
			"From step 6 on, every schedule fails.", // the worker has the mutex, and will find nobody waiting
		}},
		{"treiber", "NO_COUNTER", []string{"an ABA problem."}},
		{"seqlock", "NO_READER_FENCE", []string{
			"reads an old value of sequence, which C allows here.", "data[1] = 1 (relaxed)",
		}},
		{"chase_lev", "NO_TAKE_FENCE", []string{
			"a double take: thread 0 in chase_lev.c:81 and thread 1 in chase_lev.c:81 both take 1, which was put once.",
			"takes 1", "puts 1",
		}},
		{"mcs_lock", "NO_WAIT_FOR_LINK", []string{"a livelock: no thread can make progress."}},
		{"reference_count", "RELAXED_DROP", []string{"a data race: reference_count.c:"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			r := searched(t, tools, "classic/"+c.file+".c", macros(c.macro), explore.Options{})
			require.NotNil(t, r.Fault)
			for _, columns := range []int{120, 80} {
				var text strings.Builder
				require.NoError(t, r.Write(&text, columns))
				for line := range strings.Lines(text.String()) {
					require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), columns, "%s", line)
				}
				words := strings.Join(strings.Fields(text.String()), " ") // lines may break anywhere
				for _, part := range c.says {
					require.Contains(t, words, part)
				}
			}
		})
	}
}
