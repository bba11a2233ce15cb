package record_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
	"fiberlab/labs/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

func TestWord(t *testing.T) {
	text, err := json.Marshal(record.Word(0x7ffe12))
	require.NoError(t, err)
	require.Equal(t, `"0x7ffe12"`, string(text))
	var w record.Word
	require.NoError(t, json.Unmarshal(text, &w))
	require.Equal(t, record.Word(0x7ffe12), w)
	require.ErrorContains(t, json.Unmarshal([]byte(`"12"`), &w), `word "12": write it as 0x and hexadecimal digits`)
}

// program counts in memory and in its result, then ends up in a loop.
const program = `
unsigned long counter[2] = {7, 9};
__attribute__((noinline)) int work(void) { counter[1]++; return 0; }
`

const main = `
int work(void);
__attribute__((noinline)) void ends(void) { __asm__ volatile("" ::: "memory"); }
int main(void) { work(); ends(); for (;;) __asm__ volatile(""); }
`

// started returns the program before its first instruction of work, and its counters as a region.
func started(t *testing.T) (machine.Machine, *machine.Program, record.Watch) {
	return startedIn(t, t.TempDir(), program)
}

// startedIn is started with that program, in the folder dir.
func startedIn(t *testing.T, dir, program string) (machine.Machine, *machine.Program, record.Watch) {
	work := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "work.c"), []byte(program), 0o600))
	built, err := sandbox.Build(
		t.Context(),
		sandbox.BuildOptions{Arch: machine.Native(), Dir: dir, Sources: []string{"work.c"}, Work: work,
			Harness: map[string]string{"main.c": main}, Calls: []string{"work"}},
	)
	require.NoError(t, err)
	p, err := machine.Open(built.Path)
	require.NoError(t, err)
	emulator := strings.Fields(os.Getenv("FIBERLAB_EXEC"))
	if err := machine.Controls(p.Arch); err != nil && len(emulator) == 0 {
		t.Skip(err)
	}
	m, err := machine.Start(t.Context(), p, machine.Options{Emulator: emulator})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	at := func(name string) machine.Symbol {
		s, err := p.Symbol(name)
		require.NoError(t, err)
		return s
	}
	stop, err := m.Run(t.Context(), at("work").Address)
	require.NoError(t, err)
	require.Equal(t, machine.Reached, stop.Kind, stop)
	region := record.Region{Name: "counters", Address: record.Word(at("counter").Address), Initial: make([]byte, 16)}
	return m, p, record.Watch{
		Title: "work", Regions: []record.Region{region}, Until: []uint64{at("ends").Address}, Dir: dir,
	}
}

func TestRun(t *testing.T) {
	m, p, watch := started(t)
	r, stop, err := record.Run(t.Context(), m, p, watch)
	require.NoError(t, err)
	require.Equal(t, machine.Reached, stop.Kind)
	writes, lines := 0, 0
	for i, step := range r.Steps {
		if strings.Contains(step.Source, "counter[1]++") {
			lines++
		}
		for _, w := range step.Memory {
			writes++
			require.Equal(t, record.Write{Region: 0, Offset: 8, Before: []byte{9}, After: []byte{10}}, w)
			require.EqualValues(t, 9, r.Image(0, i)[8])
			require.EqualValues(t, 10, r.Image(0, i+1)[8])
		}
	}
	require.Equal(t, 1, writes)
	require.Positive(t, lines)
	require.EqualValues(t, 7, r.Image(0, len(r.Steps))[0])
}

// A store outside of the regions is recorded with the name of the variable; a load is none.
func TestRunElsewhere(t *testing.T) {
	m, p, watch := startedIn(t, t.TempDir(), `
unsigned long counter[2] = {7, 9}, other = 5, third = 6;
__attribute__((noinline)) int work(void) { counter[1] = third; other = counter[1] + 0x100; return 0; }
`)
	r, stop, err := record.Run(t.Context(), m, p, watch)
	require.NoError(t, err)
	require.Equal(t, machine.Reached, stop.Kind)
	var stores []record.Elsewhere
	for _, step := range r.Steps {
		if step.Elsewhere != nil && step.Elsewhere.Symbol != "" {
			stores = append(stores, *step.Elsewhere)
			require.Equal(t, step.Operand, step.Elsewhere.Address)
		}
	}
	require.Len(t, stores, 1)
	require.Equal(t, "other", stores[0].Symbol)
	require.Equal(t, []byte{5, 0}, stores[0].Before)
	require.Equal(t, []byte{6, 1}, stores[0].After)
}

func TestRunWithoutAnEnd(t *testing.T) {
	m, p, watch := started(t)
	watch.Until, watch.Limit = nil, 50
	r, _, err := record.Run(t.Context(), m, p, watch)
	var long *record.TooLongError
	require.ErrorAs(t, err, &long)
	require.EqualError(t, err, "no end after 50 instructions")
	require.Len(t, r.Steps, 50)
}

// A program may say that its lines come from elsewhere. Only plain files in the folder of the sources are read: no
// other file of this machine comes into a recording, and none that has no end.
func TestRunReadsNoOtherSources(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "secret.c")
	require.NoError(t, os.WriteFile(elsewhere, []byte("secret\n"), 0o600))
	dir := t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "link.c")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.c"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large.c"), make([]byte, 1<<20+1), 0o600))
	upwards, err := filepath.Rel(dir, elsewhere)
	require.NoError(t, err)
	for _, name := range []string{elsewhere, upwards, "link.c", "pipe.c", "large.c", "/dev/zero"} {
		m, p, watch := startedIn(t, dir, fmt.Sprintf("\n# 1 %q\n", name)+strings.TrimSpace(program))
		place, known := p.Place(func() uint64 { s, _ := p.Symbol("work"); return s.Address }())
		require.True(t, known)
		require.Equal(t, name, place.File)
		r, stop, err := record.Run(t.Context(), m, p, watch)
		require.NoError(t, err)
		require.Equal(t, machine.Reached, stop.Kind)
		require.Empty(t, r.Sources[name], name)
		require.Empty(t, r.Steps[0].Source, name)
	}
}

// Of a line and of a name there is as much as a reader needs, since each step repeats them.
func TestRunClipsWhatIsLong(t *testing.T) {
	long := strings.Repeat("long", 1000)
	const source = "unsigned long counter[2]; __attribute__((noinline, noipa)) int %s(void) { counter[1]++; return " +
		"0; } int work(void) { return %s() + 1; } /* %s */"
	work := fmt.Sprintf(source, long, long, long)
	m, p, watch := startedIn(t, t.TempDir(), work)
	r, _, err := record.Run(t.Context(), m, p, watch)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, r.Steps[0].Source, "unsigned long counter")
	for _, step := range r.Steps {
		require.LessOrEqual(t, len(step.Source), 510)
		require.LessOrEqual(t, len(step.Place.Function), 260)
	}
	require.Less(t, len(text), 20_000)
}
