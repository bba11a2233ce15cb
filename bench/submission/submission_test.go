package submission

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/bench"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// measure samples the swap in dir until its system calls could be counted.
func measure(ctx context.Context, t *testing.T, dir string) (rows []bench.Row, err error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	err = With(ctx, dir, func(m bench.Mechanism) error {
		w := bench.Workload{Name: "swap", Operation: "switch", Base: Name, Rivals: []bench.Mechanism{m}, Counted: true}
		o := bench.Options{Rounds: 21, Sample: 100 * time.Microsecond, Workloads: []bench.Workload{w}}
		r, err := bench.Measure(ctx, o, nil)
		if err == nil {
			rows = r.Groups[0].Rows
		}
		return err
	})
	left, failed := os.ReadDir(os.TempDir())
	require.NoError(t, failed)
	require.Empty(t, left)
	return rows, err
}

// The reference is measured, in a folder whose name has a blank.
func TestTheReferenceIsMeasured(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my swap")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "labs", Lab().Number, "reference"))))
	rows, err := measure(t.Context(), t, dir)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, Name, rows[0].Name)
	require.Positive(t, rows[0].Median)
	require.Nil(t, rows[0].SystemCalls, "a confined process lets nobody trace it")
	require.Zero(t, rows[0].Executed)
}

// written writes a folder with a file in C whose swap has that body.
func written(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "swap.c"), []byte(`
typedef unsigned long size_t;
const size_t marl_fiber_context_size = 64;
void marl_fiber_set_target(void *ctx, void *stack, size_t size, void (*target)(void *), void *arg) {
    (void)ctx, (void)stack, (void)size, (void)target, (void)arg;
}
`+body), 0o600))
	return dir
}

const swapHead = "void marl_fiber_swap(char *from, const char *to) { (void)from, (void)to; "

func TestSwapsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"goes nowhere": {swapHead + "}", "bench: yours: the swap does not work: of 1000 swaps there, " +
			"1000 were made and 0 arrived"},
		"crashes":      {swapHead + "*(volatile int *)8 = 1; }", "the swap crashed: its program got SIGSEGV"},
		"is not there": {"", "nothing defines marl_fiber_swap: the lab needs it"},
		"no C":         {"swap", "swap.c:"},
	} {
		if len(emulator) > 0 && name != "crashes" {
			continue // each start takes seconds there
		}
		t.Run(name, func(t *testing.T) {
			_, err := measure(t.Context(), t, written(t, c.body))
			require.ErrorContains(t, err, c.says)
		})
	}
}

// A swap that does not come back is given up after a while, or when the measurement is cancelled.
func TestASwapThatDoesNotComeBack(t *testing.T) {
	dir := written(t, swapHead+`for (;;) __asm__ volatile(""); }`)
	t.Run("limit", func(t *testing.T) {
		before := answerTime
		defer func() { answerTime = before }()
		answerTime = 100 * time.Millisecond
		_, err := measure(t.Context(), t, dir)
		require.ErrorContains(t, err, "the swap does not come back within 100ms")
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		err := With(ctx, dir, func(m bench.Mechanism) error {
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := m.Open()
			return err
		})
		require.ErrorIs(t, err, context.Canceled)
	})
}
