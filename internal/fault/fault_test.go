package fault_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/internal/fault"
)

func TestSpecialCase(t *testing.T) {
	general := errors.New("general")
	a, b := fault.Of(general, "the same"), fault.Of(general, "the same")
	require.EqualError(t, a, "the same")
	require.ErrorIs(t, a, general)
	require.ErrorIs(t, a, a)
	require.NotErrorIs(t, a, b)
	require.NotErrorIs(t, general, a)
}
