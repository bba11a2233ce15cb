package fiber

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackendNamesRoundTrip(t *testing.T) {
	for _, b := range append(Backends(), Default) {
		parsed, err := ParseBackend(b.String())
		require.NoError(t, err)
		require.Equal(t, b, parsed)
	}
	_, err := ParseBackend("threads")
	require.ErrorIs(t, err, ErrBackend)
	require.ErrorContains(t, err, `"threads"`)
}

func TestDefaultBackendFollowsTheEnvironment(t *testing.T) {
	for value, want := range map[string]Backend{
		"": Asm, "default": Asm, "asm": Asm, "ucontext": Ucontext, "goroutine": Goroutine,
	} {
		t.Setenv(EnvBackend, value)
		b, err := Default.Resolve()
		require.NoError(t, err)
		require.Equal(t, want, b, "%s=%s", EnvBackend, value)
		b, err = Ucontext.Resolve()
		require.NoError(t, err)
		require.Equal(t, Ucontext, b, "a backend that is chosen wins over the environment")
	}
	t.Setenv(EnvBackend, "nonsense")
	_, err := Default.Resolve()
	require.ErrorIs(t, err, ErrBackend)
	require.ErrorContains(t, err, EnvBackend)
	_, err = Backend(77).Resolve()
	require.ErrorIs(t, err, ErrBackend)
}
