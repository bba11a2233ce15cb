package crash

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
)

// envWorkers tells a child how many workers its scheduler shall have.
const envWorkers = "FIBERLAB_CRASH_WORKERS"

// NewTask registers a child under name, which it returns. The child runs task on a scheduler, and task must end the
// process.
func NewTask(name string, task func()) string {
	return child.New(name, func(t child.T, b fiber.Backend) {
		n, err := strconv.Atoi(os.Getenv(envWorkers))
		require.NoError(t, err)
		s, err := sched.New(sched.Config{Workers: n, Backend: b})
		require.NoError(t, err)
		if n == 0 {
			require.NoError(t, s.Bind())
		}
		require.NoError(t, s.Enqueue(sched.Task{Func: task}))
		if n == 0 {
			require.NoError(t, sched.Unbind())
		}
		require.NoError(t, s.Close())
		os.Exit(1)
	})
}

// RunTask runs a child of NewTask on a scheduler with so many workers, and returns what it wrote.
func RunTask(t *testing.T, name string, b fiber.Backend, workers int) string {
	t.Helper()
	return child.RunCrash(t, name, b, envWorkers+"="+strconv.Itoa(workers))
}

// EachTask runs children of NewTask for every backend, with and without workers, and has check read what each wrote.
func EachTask(t *testing.T, names []string, check func(t *testing.T, out string)) {
	for _, name := range names {
		for _, b := range fiber.Backends() {
			for _, n := range []int{0, 2} {
				t.Run(fmt.Sprintf("%s/%v/workers=%d", name, b, n), func(t *testing.T) {
					t.Parallel()
					check(t, RunTask(t, name, b, n))
				})
			}
		}
	}
}
