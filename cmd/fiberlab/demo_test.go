package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/fiber"
	"fiberlab/sched/forkjoin"
)

// requireColumns checks that no line is longer than so many columns.
func requireColumns(t *testing.T, columns int, shown string) {
	t.Helper()
	for _, line := range strings.FieldsFunc(shown, func(r rune) bool { return r == '\r' || r == '\n' }) {
		require.LessOrEqual(t, text.LongestLineLen(line), columns, "%q", line)
	}
}

func TestLostWakeup(t *testing.T) {
	for _, b := range backendNames() {
		for _, policy := range policyNames() {
			got := newLab(nil, nil).test(t, "demo", "lost-wakeup", "--backend", b, "--policy", policy)
			require.Zero(t, got.code, got.stderr)
			require.Empty(t, got.stderr)
			requireColumns(t, plainColumns, got.stdout)
			for i, trap := range demo.Traps() {
				require.Contains(t, got.stdout, fmt.Sprintf("%d of 4: %s (%s)\n", i+1, trap.Title, trap.Name))
			}
			require.Regexp(
				t, `(?m)^  11  10 signal\(done\): no thread waits\n  12 +21 wait\(done\): unlocks, sleeps$`, got.stdout,
			)
			require.Contains(t, got.stdout, "The signal of step 11 came while\nno thread slept. ")
			require.Contains(
				t, got.stdout, "\nSteps 10 to 11: worker sets the status to COMPLETED (line 9) and signals",
			)
			require.Contains(t, got.stdout, "\n      + 9 lock ")
			require.Equal(t, 4, strings.Count(got.stdout, "\nAll threads come to their end.\n"))
		}
	}
}

// A program of the user: one that goes wrong, one that does not, and one with too many schedules to try all.
func TestAProgramOfTheUser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my program.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	_, example, _ := strings.Cut(demo.Grammar, "\n\n")
	example, _, _ = strings.Cut(example, "\n\n")

	write(strings.ReplaceAll("\n"+example, "\n    ", "\r\n"))
	for i, b := range backendNames() {
		got := newLab(nil, nil).test(t, "demo", "--policy", policyNames()[i%len(policyNames())], file, "--backend", b)
		require.Equal(t, exitFailed, got.code, got.stderr)
		require.Empty(t, got.stderr)
		requireColumns(t, max(plainColumns, len(file)+1), got.stdout)
		require.Contains(t, got.stdout, file+":\n")
		require.Contains(t, got.stdout, "\nSchedules that go wrong: 1 of 10. The shortest of them, step by step:\n")
		require.Regexp(
			t, `(?m)^   4 +6 signal\(changed\): no thread waits\n   5   3 wait\(changed\): unlocks, sleeps$`,
			got.stdout,
		)
		require.Contains(t, got.stdout, "\nStep 5: waiter gives the lock back and sleeps (line 3).\n")
	}
	got := newLab(nil, nil).test(t, "demo", file, "--json")
	require.Equal(t, exitFailed, got.code, got.stderr)
	e := decode(t, got.stdout).Explored
	require.Equal(
		t, []any{file, true, 10, 1, 5},
		[]any{e.File, e.All, e.Found.Schedules, e.Found.Wrong, len(e.Found.Shortest.Turns)},
	)

	write("a, b:\n  lock\n  unlock\n")
	got = newLab(nil, nil).test(t, "demo", file)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "\nSchedules that go wrong: none of 2.\n")

	write("a:\n  while n == 0:\n    lock\n    unlock\n")
	got = newLab(nil, nil).test(t, "demo", file)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.stdout, "The program has not ended after 200 turns.\n")
	require.Contains(t, got.stdout, "\n140 more steps follow.\n")

	write("a, b:\n" + strings.Repeat("  n = n + 1\n", 8))
	got = newLab(nil, nil).test(t, "demo", file)
	require.Equal(t, exitFailed, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(t, got.stderr, "more than 3000 schedules: take lines or threads out of the program")
	require.Contains(t, got.stdout, "\nSchedules that go wrong: none of the first 3,000 (there are more).\n")
}

func TestAnInterruptEndsADemo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout bytes.Buffer
	err := newLab(&stdout, io.Discard).execute(ctx, []string{"demo", "lost-wakeup"})
	require.Equal(t, exitInterrupted, exitCode(err), "%v", err)
	require.Empty(t, stdout.String())
	require.Equal(t, fiber.Stats{}, fiber.ReadStats(), "something is still held")
}

func TestOneTrap(t *testing.T) {
	got := newLab(nil, nil).test(t, "demo", "lost-wakeup", "if-for-while", "--json")
	require.Zero(t, got.code, got.stderr)
	r := decode(t, got.stdout)
	require.Nil(t, r.Pipeline)
	require.Nil(t, r.Deadlock)
	require.Len(t, r.LostWakeup, 1)

	want, err := demo.Traps()[1].Show(t.Context(), demoOptions{}.Scheduler)
	require.NoError(t, err)
	require.Equal(t, asJSON(t, want), asJSON(t, r.LostWakeup[0]))
	require.NotEmpty(t, r.LostWakeup[0].Goes.Shortest.Turns)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

// docs/commands.md shows what demo lost-wakeup prints.
func TestCommandsPageShowsATrap(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "a fault comes every time:\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "\nThen the repaired program runs")
	got := newLab(nil, nil).test(t, "demo", "lost-wakeup")
	require.Contains(t, got.stdout, strings.TrimSpace(strings.ReplaceAll(block, "\n    ", "\n")))
}

// The command fails if a trap does not show what it should, and names the trap. It prints its findings all the same.
func TestATrapThatIsNotShown(t *testing.T) {
	repaired := demo.Traps()[0]
	repaired.Faulty = repaired.Repaired
	broken := demo.Traps()[2]
	broken.Repaired = broken.Faulty
	for _, c := range []struct {
		trap         demo.Trap
		says, prints string
	}{
		{repaired, "signal-before-wait: the faulty program goes wrong under 0 of 28 schedules, the repaired one " +
			"under 0 of 28: the trap was not shown",
			"Schedules that go wrong: none of 28. There is no trap to be shown.\n"},
		{broken, "status-outside-lock: the faulty program goes wrong under 85 of 117 schedules, the repaired one " +
			"under 85 of 117: the trap was not shown",
			"Schedules of this program that go wrong: 85 of 117. "},
	} {
		l := newLab(nil, nil)
		l.traps = func() []demo.Trap { return []demo.Trap{c.trap} }
		got := l.test(t, "demo", "lost-wakeup")
		require.Equal(t, exitFailed, got.code)
		requireOneLine(t, got.stderr)
		require.Contains(t, got.stderr, c.says)
		require.Contains(t, got.stdout, c.prints)

		got = l.test(t, "demo", "lost-wakeup", "--json")
		require.Equal(t, exitFailed, got.code)
		require.False(t, decode(t, got.stdout).LostWakeup[0].Verdict)
	}
}

func TestDeadlock(t *testing.T) {
	for _, form := range forkjoin.Forms() {
		for _, policy := range policyNames() {
			for _, workers := range []string{"1", "2", "3", "9"} {
				got := newLab(
					nil, nil,
				).test(t, "demo", "deadlock", "--workers", workers, "--policy", policy, "--form", form.String())
				require.Zero(t, got.code, got.stderr)
				require.Empty(t, got.stderr)
				requireColumns(t, plainColumns, got.stdout)
				require.Contains(t, got.stdout, "\nThe pool is stuck.\nThread 0 runs parent ")
				require.Contains(
					t, got.stdout,
					"\nOnly a thread of the pool takes a task off the queue, and each of them waits for\n",
				)
				require.Equal(t, 2, strings.Count(got.stdout, "\nAll tasks have ended. "))
				require.Contains(t, got.stdout, "Children that ran on the stack of their parent: 0 of "+workers+".\n")
			}
		}
	}
}

func TestDeadlockAsJSON(t *testing.T) {
	for _, b := range backendNames() {
		got := newLab(
			nil, nil,
		).test(t, "demo", "deadlock", "--workers", "2", "--parents", "3", "--json", "--backend", b)
		require.Zero(t, got.code, got.stderr)
		d := decode(t, got.stdout).Deadlock
		require.Equal(t, []int{2, 3}, []int{d.Threads, d.Parents})
		require.True(t, d.Verdict)
		require.Len(t, d.Plain.Stuck, 2)
		require.Len(t, d.Plain.Entries, 4)
		require.Len(t, d.Helping.Entries, 15)
		require.Len(t, d.Parking.Entries, 15)
	}
}

// With a thread to spare there is no deadlock, so the command has not shown one.
func TestNoDeadlock(t *testing.T) {
	got := newLab(nil, nil).test(t, "demo", "deadlock", "--workers", "3", "--parents", "1")
	require.Equal(t, exitFailed, got.code)
	requireOneLine(t, got.stderr)
	require.Contains(
		t, got.stderr,
		"the plain pool finished: it has 1 parent and 3 threads, and one that is free runs the children: give "+
			"--parents 3 or more",
	)
	require.Equal(t, 3, strings.Count(got.stdout, "\nAll tasks have ended. "))
}

func TestDemosOnTerminals(t *testing.T) {
	for _, columns := range []int{40, 60, 80, 100} {
		for _, args := range [][]string{
			{"demo", "lost-wakeup"}, {"demo", "deadlock", "--workers", "4"}, {"demo", "lost-wakeup", "--help"},
			{"demo", "deadlock", "--help"},
		} {
			requireColumns(t, columns, onTerminal(t, columns, nil, args...))
		}
	}
	shown := onTerminal(t, 40, nil, "demo", "lost-wakeup", "if-for-while")
	require.Contains(t, shown, "\r\nproducer:\r\n  6 lock\r\n")
	require.Regexp(t, `\r\n13 consumer A:  4 items = items - 1\r\n`, shown)
	require.Contains(t, shown, "\x1b[1m")
	require.NotContains(t, onTerminal(t, 40, []string{"NO_COLOR=1"}, "demo", "deadlock"), "\x1b")
}

// Columns are as wide as their texts, or break them between words;
// where they would be too narrow, each text has a line.
func TestColumns(t *testing.T) {
	c := &columns{label: "step", heads: []string{"a", "b"}}
	c.add("1", 0, "one two three four five")
	c.add("2", 1, "six")
	require.Equal(t, ""+
		"step  a                        b\n"+
		"   1  one two three four five\n"+
		"   2                           six\n", c.render(screen{}))
	require.Equal(t, ""+
		"step  a                      b\n"+
		"   1  one two three four\n"+
		"           five\n"+
		"   2                         six\n", c.render(screen{columns: 50}))
	require.Equal(t, ""+
		"1 a: one two three\n"+
		"     four five\n"+
		"2 b: six\n", c.render(screen{columns: 20}))

	listing := &columns{
		heads: []string{"a:", "b:"}, rows: []columnRow{{cells: []string{"1", "3"}}, {cells: []string{"2", ""}}},
	}
	require.Equal(t, "a:\n1\n2\nb:\n3\n", listing.render(screen{columns: 20}))
}
