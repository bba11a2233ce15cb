package step

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// parts cuts a sample in two, as two recordings that follow one another.
func parts(t *testing.T, r *record.Recording) []*record.Recording {
	first, second := *r, *r
	first.Title, second.Title = "A swaps to B", "B swaps to A"
	first.Steps, second.Steps = slices.Clone(r.Steps[:18]), slices.Clone(r.Steps[19:])
	second.Registers = map[string]record.Word{}
	p := at(t, r, 19)
	for _, name := range r.Names {
		second.Registers[name] = record.Word(p.Register(name))
	}
	second.Regions = nil
	for i, region := range r.Regions {
		region.Initial = slices.Clone(p.memory[i])
		second.Regions = append(second.Regions, region)
	}
	first.Labels, second.Labels = nil, nil
	return []*record.Recording{&first, &second}
}

func TestJoin(t *testing.T) {
	r := sampleAMD64(t, false)
	p := parts(t, r)
	slices.Reverse(p[1].Regions) // regions go by their names
	for i, s := range p[1].Steps {
		s.Memory = slices.Clone(s.Memory)
		for k := range s.Memory {
			s.Memory[k].Region = 3 - s.Memory[k].Region
		}
		p[1].Steps = slices.Clone(p[1].Steps)
		p[1].Steps[i] = s
	}
	// of no region that is shown
	p[0].Steps[3].Memory = append(p[0].Steps[3].Memory, record.Write{Region: 9, Before: []byte{1}, After: []byte{2}})
	all, err := Join("there and back", p)
	require.NoError(t, err)
	require.Len(t, all.Steps, len(r.Steps))
	joined, whole := at(t, all, 0), at(t, r, 0)
	for i := range joined.Last() + 1 {
		joined.Go(i)
		whole.Go(i)
		require.Equal(t, state(whole), state(joined), "position %d", i)
	}
	joined.Go(19)
	step, _ := joined.Step()
	require.Equal(t, "B swaps to A", step.Note)
	require.Equal(t, "r12 of A", joined.Meaning(uint64(r.Registers["r12"])))
	require.Equal(t, "rbp of B", joined.Meaning(joined.Register("rbp")))

	p[1].Regions[0].Address += 8
	_, err = Join("", p)
	require.ErrorContains(t, err, "context of B is at")
	_, err = Join("", nil)
	require.ErrorContains(t, err, "nothing was recorded")
}

func TestAddFinding(t *testing.T) {
	r := sampleAMD64(t, false)
	AddFinding(r, machine.Place{File: "/somewhere/else/swap.S", Line: 15}, "wrong", "2.3")
	AddFinding(r, machine.Place{File: "swap.S", Line: 99}, "nowhere", "2.3")
	AddFinding(r, machine.Place{}, "nothing", "2.1")
	require.Equal(t, []record.Finding{{Step: 11, Text: "wrong", Section: "2.3"},
		{
			Step: 30, Text: "wrong", Section: "2.3",
		}, {Step: -1, Text: "nowhere", Section: "2.3"}, {Step: -1, Text: "nothing", Section: "2.1"}}, r.Findings)
}
