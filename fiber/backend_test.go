package fiber

import (
	"runtime"
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
	wanted := map[string]Backend{"": Backends()[0], "default": Backends()[0]}
	for _, b := range Backends() {
		wanted[b.String()] = b
	}
	for value, want := range wanted {
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
	if !hasAsm {
		_, err = Asm.Resolve()
		require.ErrorIs(t, err, ErrBackend)
		require.ErrorContains(t, err, runtime.GOARCH)
	}
	_, err = Backend(77).Resolve()
	require.ErrorIs(t, err, ErrBackend)
}
