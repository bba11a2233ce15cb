package files_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp/syntax"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"fiberlab/files"
	"fiberlab/sched"
	"fiberlab/sched/uring"
)

// Without Lines a search counts.
func TestGrepWithoutLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(name, []byte("x\ny\nx\n"), 0o600))
	found, err := files.Grep(context.Background(), "x", name, files.GrepOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 2, found.Lines)
	assert.EqualValues(t, 1, found.Matching)
}

// What cannot begin says why: by a *PlanError, by that of the pattern, or by that of the scheduler.
func TestCannotBegin(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	name, none := filepath.Join(dir, "a"), filepath.Join(dir, "none")
	require.NoError(t, os.WriteFile(name, []byte("x"), 0o600))

	var plan *files.PlanError
	found, err := files.Grep(ctx, "x", none, files.GrepOptions{})
	require.ErrorAs(t, err, &plan)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Nil(t, found)
	copied, err := files.Copy(ctx, none, dir, files.CopyOptions{})
	require.ErrorAs(t, err, &plan)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.Nil(t, copied)

	var pattern *syntax.Error
	_, err = files.Grep(ctx, "(", name, files.GrepOptions{})
	require.ErrorAs(t, err, &pattern)

	idle := files.Setup{Engines: &uring.Options{}} // no workers
	found, err = files.Grep(ctx, "x", name, files.GrepOptions{Setup: idle})
	require.ErrorIs(t, err, sched.ErrNoWorkers)
	assert.NotNil(t, found)
	copied, err = files.Copy(ctx, name, filepath.Join(dir, "b"), files.CopyOptions{Setup: idle})
	require.ErrorIs(t, err, sched.ErrNoWorkers)
	assert.NotNil(t, copied)

	wrong := files.Setup{Scheduler: sched.Config{Workers: -1}, Engines: &uring.Options{}}
	found, err = files.Grep(ctx, "x", name, files.GrepOptions{Setup: wrong})
	require.ErrorIs(t, err, sched.ErrNegative)
	assert.Nil(t, found)
}
