package labs_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs"
)

// A file that several labs give is known by its folder, whichever way leads there.
func TestInSwap(t *testing.T) {
	files, err := filepath.Glob("swap/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		require.True(t, labs.InSwap(file), file)
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		require.True(t, labs.InSwap(path), path)
	}
	for _, file := range []string{"context.c", "swap", "swap.S", "06/swap.S", "swap/own/context.c", "myswap/context.c"} {
		require.False(t, labs.InSwap(file), file)
	}
}
