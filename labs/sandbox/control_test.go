package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/sandbox"
)

// control starts a confined program whose answer has that body under control.
func control(t *testing.T, a *machine.Arch, body string) machine.Machine {
	t.Helper()
	if err := machine.Controls(a); err != nil {
		t.Skip(err)
	}
	b, err := build(t, a, map[string]string{"answer.c": headers + "int answer(void) {\n" + body + "\nreturn 42; }\n"})
	require.NoError(t, err)
	p, err := machine.Open(b.Path)
	require.NoError(t, err)
	o := machine.Options{Wrap: func(argv []string) []string { return sandbox.Wrap(argv, sandbox.Limits{}) }}
	m, err := machine.Start(t.Context(), p, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	r, err := m.Registers()
	require.NoError(t, err)
	first, _ := p.At(r.PC())
	require.Equal(t, "_start", first.Name, "it stands elsewhere than at its first instruction")
	return m
}

// A confined program is controlled as any other, from its first instruction on.
func TestUnderControl(t *testing.T) {
	for _, a := range arches() {
		t.Run(a.Name, func(t *testing.T) {
			stop, err := control(t, a, ``).Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, machine.Stop{Kind: machine.Exited, Status: 42}, stop)
		})
	}
}

// A refused system call is reported by name, where the system says which it was.
func TestRefusalHasName(t *testing.T) {
	if sandbox.Missing() != "" {
		t.Skip(sandbox.Missing())
	}
	for _, a := range arches() {
		t.Run(a.Name, func(t *testing.T) {
			stop, err := control(t, a, `fork();`).Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, machine.Refused, stop.Kind, "%+v", stop)
			want := "called fork (clone): not allowed here"
			if stop.Call < 0 {
				want = "made a system call that is not allowed here"
			}
			require.Equal(t, want, sandbox.Refusal(a, stop))
		})
	}
	require.Equal(t, "called fork (clone): not allowed here", sandbox.Refusal(machine.ARM64, machine.Stop{Call: 220}))
	require.Equal(
		t, "called system call 9999: not allowed here", sandbox.Refusal(machine.AMD64, machine.Stop{Call: 9999}),
	)
}
