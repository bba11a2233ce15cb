package step

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/record"
)

// state is all that a player shows of registers and memory.
func state(p *Player) map[string]uint64 {
	s := map[string]uint64{}
	for _, name := range p.recording.Names {
		s[name] = p.Register(name)
	}
	for i, r := range p.recording.Regions {
		for word := range p.Words(i) {
			s[r.Name+" "+record.Word(word).String()] = p.Word(i, word)
		}
	}
	return s
}

func TestBackIsTheReverseOfForward(t *testing.T) {
	p := at(t, sampleAMD64(t, false), 0)
	var states []map[string]uint64
	for i := range p.Last() + 1 {
		p.Go(i)
		require.Equal(t, i, p.At())
		states = append(states, state(p))
	}
	for i := p.Last(); i >= 0; i-- {
		p.Go(i)
		require.Equal(t, states[i], state(p), "position %d", i)
	}
	p.Go(p.Last() + 5)
	require.Equal(t, p.Last(), p.At())
	p.Go(-5)
	require.Equal(t, 0, p.At())
}

func TestTheSwapIsSeen(t *testing.T) {
	r := sampleAMD64(t, false)
	p := at(t, r, 0)
	require.Equal(t, uint64(r.Steps[0].PC), p.Register("rip"))
	require.Equal(t, stackA, p.Running())
	require.Empty(t, p.Effects())

	texts := func(position int) (all []string) {
		p.Go(position)
		for _, e := range p.Effects() {
			all = append(all, e.String())
		}
		return all
	}
	require.Equal(t, []string{"rcx = 0x4011a6, return address in A, from stack of A +0x58",
		"rsp = 0x7f3a5c000fe0, stack of A +0x60"}, texts(1))
	require.Regexp(t, `^context of A \+0x0 = 0x[0-9a-f]+, rbx of A, from rbx$`, texts(2)[0])
	require.Equal(t, []string{"context of A +0x30 = 0x7f3a5c000fe0, stack of A +0x60, from rsp"}, texts(8))
	require.Regexp(t, `^r12 = 0x[0-9a-f]+, r12 of B, from context of B \+0x10$`, texts(12)[0])
	require.Equal(t, []string{"rsp = 0x7f3a5c011fe0, stack of B +0x60, from context of B +0x30"}, texts(16))
	require.Equal(t, stackB, p.Running())
	require.Equal(t, map[int][]string{12: {"rsp", "context of B +0x30"}}, p.Pointers(stackB))
	require.Equal(t, map[int][]string{12: {"context of A +0x30"}}, p.Pointers(stackA))
	require.Equal(t, []string{"rip = 0x4012c9, return address in B"}, texts(18))
	require.NotContains(t, texts(19)[0], "from", "the grader, no instruction, did this")

	p.Go(12)
	require.True(t, p.ChangedRegister("r12"))
	require.False(t, p.ChangedRegister("r13"))
	p.Go(4)
	require.True(t, p.ChangedWord(contextA, 2))
	require.False(t, p.ChangedWord(contextA, 1))
	require.Equal(
		t, []string{"rip", "rsp", "rbp", "rbx", "r12", "r13", "r14", "r15", "rdi", "rsi", "rdx", "rcx"}, p.Registers(),
	)
}

// Registers that are equal, and small numbers, get no name from what they happen to equal.
func TestOnlyTellingValuesAreNamed(t *testing.T) {
	r := sampleAMD64(t, false)
	r.Registers["r8"], r.Registers["r9"], r.Registers["r10"] = 0xabcdef012345, 0xabcdef012345, 7
	p := at(t, r, 0)
	require.Empty(t, p.Meaning(0xabcdef012345))
	require.Empty(t, p.Meaning(7))
	require.Equal(t, "r11 at the start", p.Meaning(uint64(r.Registers["r11"])))
	require.Equal(
		t, "stack of A +0x80", p.Meaning(uint64(r.Regions[stackA].Address)+128), "a stack pointer may be at the end",
	)
	require.Equal(t, "swap.S:5", p.Meaning(uint64(r.Steps[1].PC)))
}

// A byte that changes marks its word; a write across two words marks both.
func TestBytes(t *testing.T) {
	r := sampleAMD64(t, false)
	was := r.Regions[contextA].Initial
	r.Steps = []record.Step{
		{
			PC: 1, Next: 2,
			Memory: []record.Write{
				{Region: contextA, Offset: 6, Before: was[6:10], After: []byte{was[6], 1, 2, was[9]}},
			},
		},
	}
	p := at(t, r, 1)
	require.True(t, p.ChangedWord(contextA, 0))
	require.True(t, p.ChangedWord(contextA, 1))
	require.Len(t, p.Effects(), 2)
	require.Equal(t, binary.LittleEndian.Uint64(append([]byte{2}, was[9:16]...)), p.Effects()[1].After)
}

func TestContradictions(t *testing.T) {
	for want, spoil := range map[string]func(r *record.Recording){
		`architecture "vax"`: func(r *record.Recording) { r.Arch = "vax" },
		"lacks register rip": func(r *record.Recording) { r.Names = r.Names[1:] },
		"step 12 of the recording: r12 is said to hold 0x1 before": func(r *record.Recording) {
			r.Steps[11].Registers[0].Before = 1
		},
		"register r99 is not among": func(r *record.Recording) {
			r.Steps[0].Registers[0].Register = "r99"
		},
		"offset 60 of region 2: not in": func(r *record.Recording) {
			r.Steps[1].Memory[0].Offset = 60
		},
		"offset 0 of region 7: not in": func(r *record.Recording) {
			r.Steps[1].Memory[0].Region = 7
		},
		"context of A +0x8 is said": func(r *record.Recording) {
			r.Steps[1].Memory[0].Offset = 8
		},
		"no step 99, which it says is wrong: x": func(r *record.Recording) {
			r.Findings = []record.Finding{{Step: 98, Text: "x"}}
		},
	} {
		r := sampleAMD64(t, false)
		spoil(r)
		_, err := Play(r)
		require.ErrorContains(t, err, want)
	}
}

// Of a long stack only the words are shown at which something happens, and their neighbours.
func TestLongStacksHaveGaps(t *testing.T) {
	r := sampleAMD64(t, false)
	for i := range 2 { // much more of both stacks, below what is used
		region := &r.Regions[i]
		region.Initial = append(make([]byte, 1<<14), region.Initial...)
		region.Address -= 1 << 14
		for s := range r.Steps {
			for w := range r.Steps[s].Memory {
				if r.Steps[s].Memory[w].Region == i {
					r.Steps[s].Memory[w].Offset += 1 << 14
				}
			}
		}
	}
	p := at(t, r, 0)
	const first = 1 << 14 / wordSize
	require.Equal(
		t, []int{gap, first + 14, first + 13, first + 12, first + 11, first + 10, first + 9, gap}, p.Order(stackA),
	)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, p.Order(contextA))
	require.Less(t, len(pageOf(t, r)), 500<<10)
	require.Contains(t, frameText(p, Screen{Columns: 120, Rows: 50}, view{}), "...")
}

// A context may end within a word.
func TestRegionsOfAnySize(t *testing.T) {
	r := sampleAMD64(t, false)
	r.Regions = append(
		r.Regions, record.Region{Name: "odd", Address: 0x1001, Initial: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	)
	p := at(t, r, 0)
	require.Equal(t, 2, p.Words(4))
	require.Equal(t, uint64(9), p.Word(4, 1))
}
