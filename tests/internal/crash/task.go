package crash

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
	"fiberlab/tests/internal/child"
	"fiberlab/tests/internal/suite"
)

// NewTask registers a child under name, which it returns. The child runs task on a scheduler, and task must end the
// process.
func NewTask(name string, task func()) string {
	return child.New(name, func(t child.T, b fiber.Backend) {
		cfg := child.Config(t, b)
		s, err := sched.New(cfg)
		require.NoError(t, err)
		if cfg.Workers == 0 {
			require.NoError(t, s.Bind())
		}
		require.NoError(t, s.Enqueue(sched.Task{Func: task}))
		if cfg.Workers == 0 {
			require.NoError(t, sched.Unbind())
		}
		require.NoError(t, s.Close())
		os.Exit(1)
	})
}

// RunTask runs a child of NewTask on a scheduler of that configuration, and returns what it wrote.
func RunTask(t *testing.T, name string, cfg sched.Config) string {
	t.Helper()
	return child.RunCrash(t, name, cfg.Backend, child.Env(cfg))
}

// EachTask runs children of NewTask over backends and policies, with and without workers, and has check read what each
// wrote.
func EachTask(t *testing.T, names []string, check func(t *testing.T, out string)) {
	for _, name := range names {
		for _, cfg := range (suite.Over{Workers: []int{0, 2}}).Configs(t.Name() + name) {
			t.Run(name+"/"+suite.Name(cfg), func(t *testing.T) {
				t.Parallel()
				check(t, RunTask(t, name, cfg))
			})
		}
	}
}
