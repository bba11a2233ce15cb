package mutate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/mutate"
)

var update = flag.Bool("update", false, "write testdata anew")

// listed has a line for each mutant, and what a diagnosis may name.
func listed(mutants []mutate.Mutant) string {
	var lines []string
	for _, m := range mutants {
		line := fmt.Sprintf("%3d %s  [%s]", m.Line, m.Name(), strings.Join(m.Names, ", "))
		if m.Same != "" {
			line += "  same"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

func golden(t *testing.T, name string, mutants []mutate.Mutant) {
	path := filepath.Join("testdata", name+".mutants")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(listed(mutants)), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), listed(mutants), "-update writes %s anew", path)
}

func source(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestMutantsOfTheProjectsSwitches(t *testing.T) {
	for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
		name := "swap_" + a.Name + ".S"
		golden(t, name, mutate.Assembly(a, name, source(t, "../../asm/"+name)))
	}
	amd64, arm64, _ := strings.Cut(source(t, "../../asm/inline.h"), "#elif defined(__aarch64__)")
	golden(t, "inline_amd64.h", mutate.Inline(machine.AMD64, "inline.h", amd64))
	golden(t, "inline_arm64.h", mutate.Inline(machine.ARM64, "inline.h", arm64))
}

// Pushes, two instructions in a line, comments, local labels, write-back.
func TestMutantsOfOtherStyles(t *testing.T) {
	golden(t, "pushes_amd64.S", mutate.Assembly(machine.AMD64, "swap.S", source(t, "testdata/pushes_amd64.S")))
	golden(t, "frames_arm64.S", mutate.Assembly(machine.ARM64, "keep.S", source(t, "testdata/frames_arm64.S")))
}

// A mutant differs from its source in its line, or in two for a swap, and in no comment; no two have the same name.
func TestMutantsDifferInOneLine(t *testing.T) {
	for path, mutants := range map[string][]mutate.Mutant{
		"../../asm/swap_amd64.S":  mutate.Assembly(machine.AMD64, "s", source(t, "../../asm/swap_amd64.S")),
		"../../asm/swap_arm64.S":  mutate.Assembly(machine.ARM64, "s", source(t, "../../asm/swap_arm64.S")),
		"testdata/pushes_amd64.S": mutate.Assembly(machine.AMD64, "s", source(t, "testdata/pushes_amd64.S")),
		"testdata/frames_arm64.S": mutate.Assembly(machine.ARM64, "s", source(t, "testdata/frames_arm64.S")),
	} {
		want := strings.Split(source(t, path), "\n")
		names := map[string]bool{}
		for _, m := range mutants {
			require.False(t, names[m.Name()], m.Name())
			names[m.Name()] = true
			got := strings.Split(m.Text, "\n")
			require.Len(t, got, len(want), m.Name())
			var differ []int
			for n := range want {
				if got[n] != want[n] {
					differ = append(differ, n+1)
				}
			}
			require.NotEmpty(t, differ, m.Name())
			require.Equal(t, m.Line, differ[0], m.Name())
			if m.Kind == mutate.Swapped {
				require.LessOrEqual(t, len(differ), 2, m.Name())
			} else {
				require.Len(t, differ, 1, m.Name())
			}
		}
	}
}

func TestEquivalents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "equivalents.txt")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	mutants := mutate.Assembly(machine.AMD64, "swap.S", "f:\n\tnop\n\tnop\n\tret\n")
	require.Len(t, mutants, 4, listed(mutants)) // three dropped, the second nop swapped with ret
	write(
		"# reasons\n\n" + mutants[0].Name() + " -- a nop does nothing\narm64: " + mutants[1].Name() + " -- there " +
			"only\nswap.S: f: dropped: hlt -- gone\n",
	)
	list, err := mutate.ReadEquivalents(path)
	require.NoError(t, err)
	require.Equal(t, "a nop does nothing", list.Reason("amd64", mutants[0]))
	require.Empty(t, list.Reason("amd64", mutants[1]))
	require.Equal(t, []string{path + ":5: swap.S: f: dropped: hlt"}, list.Unknown("amd64", ""))
	require.Empty(t, list.Unknown("amd64", "other.S"))
	require.Equal(t, "there only", list.Reason("arm64", mutants[1]))

	write("swap_amd64.S: f: dropped: nop -- not there\n")
	list, err = mutate.ReadEquivalents(path)
	require.NoError(t, err)
	require.Empty(t, list.Unknown("arm64", ""))
	require.Len(t, list.Unknown("amd64", ""), 1)

	write("swap.S: * -- given\n")
	list, err = mutate.ReadEquivalents(path)
	require.NoError(t, err)
	require.Len(t, list.Unknown("amd64", ""), 1)
	require.True(t, list.Excludes("amd64", "swap.S"))
	require.False(t, list.Excludes("amd64", "other.S"))
	require.Empty(t, list.Unknown("amd64", ""))

	write("swap.S: f: dropped: nop\n")
	_, err = mutate.ReadEquivalents(path)
	require.EqualError(t, err, path+":1: write it as NAME -- REASON")
	list, err = mutate.ReadEquivalents(path + ".none")
	require.NoError(t, err)
	require.Empty(t, list.Unknown("amd64", ""))
}

func TestMutantsOfC(t *testing.T) {
	mutants := mutate.C("stack.c", source(t, "testdata/stack.c.in"))
	golden(t, "stack.c", mutants)
	lines := strings.Count(source(t, "testdata/stack.c.in"), "\n")
	for _, m := range mutants {
		require.Equal(t, lines, strings.Count(m.Text, "\n"), m.Name())
	}
}

// Concurrent adds the faults of concurrent code to the faults of any code.
func TestConcurrent(t *testing.T) {
	const header = "enum state { IDLE, READY };\n"
	const source = `void f(void) {
    while (atomic_load(&ready) == 0)
        explore_yield();
    atomic_store_explicit(&flag[i], 1, memory_order_release);
    state = READY;
    done();
}
`
	found := map[string]bool{}
	for _, m := range mutate.Concurrent("a.c", source, header) {
		found[string(m.Kind)+": "+m.Changed] = true
	}
	for _, name := range []string{
		"once: if (atomic_load(&ready) == 0)", "state: state = IDLE;", "swapped: done();",
		"order: atomic_store_explicit(&flag[i], 1, memory_order_relaxed);",
		"order: while (atomic_load_explicit(&ready, memory_order_acquire) == 0)",
		"element: atomic_store_explicit(&flag[(i) + 1], 1, memory_order_release);",
	} {
		require.True(t, found[name], "%s: %v", name, found)
	}
}
