package bench

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"fiberlab/asm/ctest"
)

// Each workload is measured for a moment; the ring alone has fewer sizes here, since a long one takes gigabytes. In an
// emulator the explorer is left out: programs of its own are measured, which a compiler takes a minute to build there.
func TestEachWorkload(t *testing.T) {
	workloads, err := ParseWorkloads("all")
	require.NoError(t, err)
	for _, w := range workloads {
		if w.Name == "explore" && ctest.Emulated() {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			requireReleased(t)
			if w.Name == "ring" {
				whole := &ring{size: 100}
				w.Rivals = nil
				for _, n := range []int{2, 100} {
					w.Rivals = append(w.Rivals, Mechanism{Name: "asm", At: float64(n), Open: func() (Session, error) {
						return whole.part(n)
					}})
				}
			}
			if w.Sample = 50 * time.Microsecond; ctest.Emulated() {
				w.Rivals = w.Rivals[:2]
			}
			g := measured(t, w, Options{Rounds: 2})
			require.Equal(t, len(w.Rivals), len(g.Rows)+len(g.Skipped))
			require.Equal(t, w.Base, g.Base)
			for _, r := range g.Rows {
				require.Positive(t, r.Median, r.Name)
				require.True(t, strings.HasSuffix(r.Sentence, "."), r.Sentence)
			}
		})
	}
	_, err = ParseWorkloads("speed")
	require.EqualError(t, err,
		`unknown workload "speed": choose one of switch, create, ring, tasks, sync, wake, join, depth, registers, explore `+
			`or all`)
	require.Len(t, workloads, 10)
}

// The parts of a ring are measured in any order, and the last one closes it.
func TestPartsOfARing(t *testing.T) {
	requireReleased(t)
	whole := &ring{size: 30}
	sizes := []int{2, 5, 10, 29, 30}
	parts := map[int]*ringPart{}
	for _, n := range sizes {
		s, err := whole.part(n)
		require.NoError(t, err)
		parts[n] = s.(*ringPart)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := sizes[rng.IntN(len(sizes))]
		sample, err := parts[n].Run(100)
		require.NoError(t, err)
		require.Zero(t, sample.Operations%(n+1))
	}
	for _, p := range parts {
		require.NoError(t, p.Close())
	}
}

func TestRingMarks(t *testing.T) {
	marks := ringMarks([]Cache{{1, 32 << 10, 64}, {2, 1 << 20, 64}}, "3584 4K pages")
	require.Equal(t, []Mark{
		{170, "L1 ends: 32 KB hold no more"}, {5461, "L2 ends: 1024 KB hold no more"},
		{3584, "the TLB ends: it has 3584 pages, a stack each"},
	}, marks)
	require.Empty(t, ringMarks(nil, ""))
}

// What a machine lacks is named, with the line that installs it.
func TestAbsentCompilersAndLibraries(t *testing.T) {
	t.Setenv("CXX", "no-such-compiler")
	_, err := openProgram("coroutine.cc", "coroutine", "apt-get install g++")()
	require.ErrorAs(t, err, new(*Absent))
	require.EqualError(t, err, "there is no C++ compiler no-such-compiler: apt-get install g++")
	t.Setenv("CXX", " ")
	_, err = openProgram("boost.cc", "no/such/header.hpp", "apt-get install it")()
	require.ErrorAs(t, err, new(*Absent))
}

func TestAProcessEndsAfterAnError(t *testing.T) {
	p, err := OpenProcess(t.Context(), "odd", time.Minute, "sh", "-c", "echo ready; read n; echo no number; read n")
	require.NoError(t, err)
	_, err = p.Run(1)
	require.EqualError(t, err, `odd has a program that printed "no number"`)
	require.NotNil(t, p.cmd.ProcessState, "it runs still")
}
