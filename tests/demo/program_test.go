package demo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/sched"
	"fiberlab/tests/internal/suite"
)

// parsed makes a program of lines.
func parsed(t *testing.T, lines ...string) *demo.Program {
	t.Helper()
	p, err := demo.Parse(strings.Join(lines, "\n"))
	require.NoError(t, err)
	return p
}

// lines lists the lines of all turns, by their numbers.
func lines(v *demo.Interleaving) (list []int) {
	for _, turn := range v.Turns {
		list = append(list, turn.Line)
	}
	return list
}

func TestWhatIsNoProgram(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":             {"\n", "it has no threads"},
		"no colon":            {"a\n  lock\n", "the names of threads end with a colon"},
		"no name":             {"a, :\n  lock\n", "each thread has a name of its own"},
		"a name twice":        {"a:\n  lock\na:\n  lock\n", "each thread has a name of its own"},
		"a name twice a line": {"a, b, a:\n  lock\n", "each thread has a name of its own"},
		"a line of no thread": {"  lock\n", "it belongs to no thread"},
		"unknown": {"a:\n  sleep\n", `line 2, "sleep": a little program that cannot be run: no such ` +
			`statement`},
		"odd indentation":     {"a:\n   lock\n", "each block is two spaces further in"},
		"too far in":          {"a:\n  lock\n    unlock\n", "it is indented too far"},
		"first too far in":    {"a:\n    lock\n", "it is indented too far"},
		"no block":            {"a:\n  if items == 0:\n  lock\n", "it is indented too far, or too little"},
		"no block at the end": {"a:\n  if items == 0:\n", "its last block is empty"},
		"no block, and more":  {"a:\n  if items == 0:\nb:\n  lock\n", "the block above it is empty"},
		"no lines":            {"a:\nb:\n  lock\n", "the block above it is empty"},
		"else without if":     {"a:\n  lock\n  else:\n    lock\n", "there is no if above"},
		"else of a while":     {"a:\n  while items == 0:\n    lock\n  else:\n    lock\n", "there is no if above"},
		"else of no block":    {"a:\n  if items == 0:\n    else:\n      lock\n", "there is no if above"},
		"no task":             {"a:\n  result = task()\n", "there is no task"},
		"no such task":        {"queue: one waits for two\na:\n  lock\n", "no task is called two: add it to the line"},
		"a task twice":        {"queue: one, one\na:\n  lock\n", "each task has a name of its own"},
		"a tab":               {"a:\n\tlock\n", "it is indented by a tab: use spaces, two for each block"},
		"not indented": {"# remark\n\na:\nlock\n", `line 4, "lock": a little program that cannot be run: the ` +
			`names of threads end with a colon, and a line`},
		"a block's colon": {"a:\n  if items == 0\n    lock\n", "no such statement: a line that begins a block " +
			"ends with a colon"},
		"a colon too many":  {"a:\n  lock:\n", "no such statement: fiberlab demo --help lists the statements"},
		"another number":    {"a:\n  items = parts + 1\n", "no such statement"},
		"a number, no name": {"a:\n  while a-b == 0:\n    lock\n", "no such statement"},
		"a sign":            {"a:\n  while items >= 0:\n    lock\n", "no such statement"},
		"a limit":           {"a:\n  while items == many:\n    lock\n", "no such statement"},
		"many threads": {strings.Join(strings.Split("abcdefghijklmnopq", ""), ",") + ":\n  lock\n", "more " +
			"than 16 threads: take some out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := demo.Parse(c.text)
			require.ErrorIs(t, err, demo.ErrProgram)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// The grammar that is printed is right. Its program goes wrong by the schedule that its remark names, each line that it
// lists can be used, and it lists each line of the traps.
func TestGrammar(t *testing.T) {
	var blocks []string
	for _, paragraph := range strings.Split(demo.Grammar, "\n\n") {
		if strings.HasPrefix(paragraph, "    ") {
			blocks = append(blocks, strings.ReplaceAll("\n"+paragraph, "\n    ", "\n"))
		}
	}
	x, err := parsed(t, blocks[0]).Explore(t.Context(), sched.Config{})
	require.NoError(t, err)
	require.Equal(t, map[demo.FaultKind]int{demo.NeverWoken: 1}, x.Kinds)
	require.Equal(t, 10, x.Schedules)

	listed := map[string]bool{}
	for _, line := range strings.Split(strings.Join(blocks[1:], "\n"), "\n") {
		require.Less(t, len(line)+len("    "), 80, "%q", line)
		line, _, _ = strings.Cut(line, "  ")
		listed[line] = true
		program := []string{"queue: task", "a:", "  " + line}
		switch {
		case line == "" || strings.HasPrefix(line, "queue:"):
			continue
		case line == "else:":
			program = []string{"a:", "  if done == 0:", "    lock", "  " + line, "    lock"}
		case strings.HasSuffix(line, ":"):
			program = append(program, "    lock")
		}
		parsed(t, program...)
	}
	names := strings.NewReplacer("items", "done", "(done)", "(changed)", "not_empty", "changed")
	for _, trap := range demo.Traps() {
		for _, s := range append(trap.Faulty.Sections, trap.Repaired.Sections...) {
			for _, line := range s.Lines {
				require.True(t, listed[names.Replace(line.Text)], "%q", line.Text)
			}
		}
	}
}

// Numbers and conditions have any names, and a number is compared with a constant by each of four signs.
func TestNumbersAndConditions(t *testing.T) {
	p := parsed(t,
		"a, b:",
		"  lock",
		"  while free_1 < 2:", // 2
		"    wait(größer)",
		"  unlock",
		"c:",
		"  lock", // 5
		"  free_1 = free_1 + 1",
		"  if free_1 != 0:",
		"    free_1 = free_1 + 1", // 8
		"  if free_1 > 1:",
		"    broadcast(größer)", // 10
		"  if free_1 == 1:",
		"    return",
		"  unlock", // 13
	)
	v, err := p.Replay(sched.Config{}, []string{"a", "a", "a", "b", "b", "b"})
	require.NoError(t, err)
	require.Nil(t, v.Fault)
	require.Equal(t, []int{1, 2, 3, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 3, 2, 4, 3, 2, 4}, lines(v))
	require.Equal(t, []string{"a", "b"}, v.Turns[11].Wakes)
	require.Contains(t, strings.Join(v.Words, " "), "finds free_1 = 1 (line 7), adds 1 to free_1 (line 8)")
}

// A program's text is what it was made of.
func TestProgramsAsText(t *testing.T) {
	for _, trap := range demo.Traps() {
		for _, p := range []*demo.Program{trap.Faulty, trap.Repaired} {
			again, err := demo.Parse(p.String())
			require.NoError(t, err)
			require.Equal(t, p, again)
			require.Equal(t, p.String(), again.String())
		}
	}
}

// Which line follows which, in blocks within blocks.
func TestControlFlow(t *testing.T) {
	p := parsed(t,
		"a:",
		"  if items == 0:", // 1
		"    items = items + 1",
		"    while items == 0:", // 3
		"      lock",
		"    if items == 0:", // 5
		"      lock",
		"    else:",
		"      items = items - 1", // 8
		"      while items == 0:",
		"        if items == 0:", // 10
		"          items = items + 1",
		"        else:",
		"          lock",
		"  else:", // 14
		"    lock",
		"  if items == 0:", // 16
		"    lock",
		"  items = items + 1", // 18
		"  while items == 0:",
		"    lock",
	)
	suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
		v, err := p.Replay(cfg, nil)
		require.NoError(t, err)
		require.Nil(t, v.Fault)
		require.Equal(t, []int{1, 2, 3, 5, 8, 9, 10, 11, 9, 16, 18, 19}, lines(v))
	})
}

// There are as many schedules as ways to shuffle the turns of the threads, and a thread that wants the lock has no turn
// while another one holds it.
func TestAllSchedulesAreTried(t *testing.T) {
	put := "  items = items + 1"
	for _, c := range []struct {
		program   *demo.Program
		schedules int
	}{
		{parsed(t, "a:", put), 1},
		{parsed(t, "a:", put, put, put, "b:", put, put, put), 20},        // 6! / (3! 3!)
		{parsed(t, "a, b, c:", put, put), 90},                            // 6! / (2! 2! 2!)
		{parsed(t, "a, b, c:", "  lock", put, "  unlock"), 6},            // 3!
		{parsed(t, "a:", put, put, "b:", "  lock", put, "  unlock"), 10}, // 5! / (2! 3!)
	} {
		x, err := c.program.Explore(t.Context(), sched.Config{})
		require.NoError(t, err)
		require.Equal(t, c.schedules, x.Schedules, "%v", c.program)
		require.Zero(t, x.Wrong)
	}
}

func TestTooManySchedules(t *testing.T) {
	seven := strings.Repeat("  items = items + 1\n", 7)
	x, err := parsed(t, "a, b:", seven).Explore(t.Context(), sched.Config{}) // 14! / (7! 7!) = 3,432
	require.Equal(t, demo.MostSchedules, x.Schedules)
	require.ErrorIs(t, err, demo.ErrManySchedules)
}

func TestExploringIsCancelled(t *testing.T) {
	suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		_, err := demo.Traps()[0].Faulty.Explore(ctx, cfg)
		require.ErrorIs(t, err, why)
	})
}

func TestAScheduleOfUnknownThreads(t *testing.T) {
	_, err := demo.Traps()[0].Faulty.Replay(sched.Config{}, []string{"worker", "stranger"})
	require.ErrorIs(t, err, demo.ErrSchedule)
	require.ErrorContains(t, err, `"stranger"`)
}

// The log has one line for a turn of a thread that cannot get the lock. It has none for turns of threads that sleep or
// have ended.
func TestTurnsThatPass(t *testing.T) {
	p := parsed(t, "a:", "  lock", "  wait(done)", "  unlock", "b:", "  lock", "  signal(done)", "  unlock")
	v, err := p.Replay(sched.Config{}, []string{"a", "b", "b", "a", "a", "b", "b", "a", "b", "b", "b"})
	require.NoError(t, err)
	require.Nil(t, v.Fault)
	require.Equal(t, []string{"a", "b", "a", "b", "b", "a", "b", "a", "a"}, v.Schedule())
	require.True(t, v.Turns[1].Waits)
	require.Equal(t, []string{"waits: a holds it"}, v.Turns[1].Notes)
	require.Equal(t, []string{"unlocks, sleeps"}, v.Turns[2].Notes)
	require.Equal(t, []string{"a"}, v.Turns[4].Wakes)
	require.True(t, v.Turns[5].Waits && v.Turns[5].Relocks, "woken, and b still has the lock")
	require.True(t, v.Turns[7].Relocks)
	require.Contains(t, v.Words, "Step 6: a cannot take the lock (line 2; waits: b holds it).")
	require.Contains(t, v.Words, "Steps 8 to 9: a takes the lock again (line 2) and gives the lock back (line 3).")
}

// Every fault is found, and its text says what happened.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		program *demo.Program
		kind    demo.FaultKind
		says    string
		cycle   []string
	}{
		"never woken, no signal": {parsed(t, "a:", "  lock", "  wait(done)"), demo.NeverWoken,
			"a sleeps in line 2 until there is a signal. No thread is left that could wake it.", nil},
		"never woken, another condition": {parsed(t, "a:", "  lock", "  wait(done)", "b:", "  lock", "  "+
			"signal(not_empty)", "  unlock"),
			demo.NeverWoken, "a sleeps in line 2 until there is a signal. No thread", nil},
		"one signal for two": {parsed(t, "a, b:", "  lock", "  wait(done)", "  unlock", "c:", "  lock", "  "+
			"signal(done)", "  unlock"),
			demo.NeverWoken, "b sleeps in line 2 until there is a signal. No thread", nil},
		"waits for itself": {parsed(t, "a:", "  lock", "  lock"), demo.WaitCycle,
			"a wants the lock in line 2, and a holds it. So it waits for itself.", []string{"a"}},
		"a lock that is kept": {parsed(t, "a:", "  lock", "b:", "  lock"), demo.Stuck, "b wants the lock in line 2, " +
			"and a holds it.", nil},
		"unlocked twice": {parsed(t, "a:", "  unlock"), demo.Misuse, "a gives back " +
			"a lock that it does not hold.", nil},
		"waits unlocked": {parsed(t, "a:", "  wait(done)"), demo.Misuse, "a waits for a " +
			"signal without holding the lock.", nil},
		"no task": {parsed(t, "a:", "  task = pop_front()"), demo.Misuse, "a takes a task " +
			"off an empty queue.", nil},
		"no item": {parsed(t, "a:", "  items = items - 1"), demo.Negative, "items is now -1", nil},
		"the parent first": {
			parsed(t, "queue: parent waits for child, child", "a:", "  task = pop_front()", "  result = task()"),
			demo.Stuck, "a waits in line 2 for the result of the child. That is still in the queue", nil,
		},
		"each other's result": {parsed(t, "queue: one waits for two, two waits for one", "a, b:", "  task = "+
			"pop_front()", "  result = task()"),
			demo.WaitCycle, "a waits in line 2 for the result of the two, which b has taken.", []string{"a", "b"}},
		"run twice": {
			parsed(t, "queue: task", "a:", "  result = task()", "  result = task()"), demo.RunTwice,
			"a has begun it in step 1, and a begins it again", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.EachConfig(t, []int{0}, func(t *testing.T, cfg sched.Config) {
				v, err := c.program.Replay(cfg, nil)
				require.NoError(t, err)
				require.NotNil(t, v.Fault)
				require.Equal(t, c.kind, v.Fault.Kind)
				require.Contains(t, v.Fault.Text, c.says)
				require.Equal(t, c.cycle, v.Fault.Cycle)
			})
		})
	}
}

func TestAProgramWithoutEnd(t *testing.T) {
	v, err := parsed(t, "a:", "  while items == 0:", "    lock", "    unlock").Replay(sched.Config{}, nil)
	require.NoError(t, err)
	require.Equal(t, demo.NoEnd, v.Fault.Kind)
}

// A task cannot explore: that would need another thread.
func TestExploringWithinATask(t *testing.T) {
	suite.EachScheduler(t, []int{0}, func(t *testing.T, _ *sched.Scheduler) {
		_, err := demo.Traps()[0].Faulty.Explore(t.Context(), sched.Config{})
		require.ErrorIs(t, err, sched.ErrBound)
	})
}
