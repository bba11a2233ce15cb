package verify_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/explore"
	"fiberlab/labs/explore/verify"
)

// hostile returns the path of the program that tries to be taken for correct.
func hostile(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/hostile.c")
	require.NoError(t, err)
	return path
}

// Programs that try to be taken for correct. Each has a race that its own runtime would find; testdata says what each
// form does about it.
func TestHostile(t *testing.T) {
	t.Parallel()
	for form, kind := range map[string]string{
		"NOTHING":     "race",
		"WRITE_STATE": verify.Tampering, // by a pointer to the runtime's state
		"HIDDEN":      verify.Tampering, // the same, in a function without the compiler's marks
		"INNER":       verify.Tampering, // calls a function of the runtime that is not for programs
		"INDIRECT":    verify.Tampering, // the same, by a distance from explore_check
		"READ_AROUND": verify.Tampering, // reads more than the runtime's state, from before it on
		"FORGE":       "race",           // prints a result and ends
		"EXIT":        "abort",
		"HANG":        "livelock",
		"FENCES":      "livelock",
		"WATCHED":     verify.Differs, // has no race if the runtime does not work
		"SPEND":       "limit",        // allocates without end
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			path := build(t, hostile(t), form)
			r, err := verify.Program(t.Context(), path, options(20))
			require.NoError(t, err)
			require.NotNil(t, r.Fault)
			require.Equal(t, kind, r.Fault.Kind, "%s", r.Fault.Text)
			require.NotEmpty(t, r.Fault.Text)
		})
	}
	own, err := (&explore.Program{Path: build(t, hostile(t), "NOTHING")}).Run(t.Context(), explore.Options{})
	require.NoError(t, err)
	require.Equal(t, explore.Fail, own.Verdict)
}

// What the options keep for the test, no other code calls: not by its address either.
func TestCalls(t *testing.T) {
	t.Parallel()
	path := buildAll(t, []string{"testdata/test.c", "testdata/takes.c"})
	for _, c := range []struct {
		calls []string
		kind  string
	}{
		{nil, ""},
		{[]string{"explore_take"}, ""}, // the test calls explore_put
		{[]string{"explore_check"}, verify.Tampering},
	} {
		o := options(1)
		o.Calls = c.calls
		r, err := verify.Program(t.Context(), path, o)
		require.NoError(t, err)
		require.Equal(t, c.kind != "", r.Fault != nil, "%v", c.calls)
		if r.Fault != nil {
			require.Equal(t, c.kind, r.Fault.Kind, "%s", r.Fault.Text)
		}
	}
}
