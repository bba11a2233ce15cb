package step

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/labs/machine"
	"fiberlab/labs/record"
)

// writer makes a recording by hand: it does to registers and memory what the instructions of a swap do.
type writer struct {
	t         testing.TB
	recording *record.Recording
	arch      *machine.Arch
	registers map[string]uint64
	memory    [][]byte
	step      record.Step
}

const (
	stackA = iota // the regions of a sample
	stackB
	contextA
	contextB
)

const sampleFile = "labs/02/reference/swap.S"

func (w *writer) set(register string, value uint64) {
	if before := w.registers[register]; before != value {
		w.step.Registers = append(
			w.step.Registers, record.Change{Register: register, Before: record.Word(before), After: record.Word(value)},
		)
		w.registers[register] = value
	}
}

func (w *writer) store(region, offset int, value uint64) {
	after := binary.LittleEndian.AppendUint64(nil, value)
	at := w.memory[region][offset:][:8]
	if slices.Equal(at, after) {
		return
	}
	w.step.Memory = append(
		w.step.Memory, record.Write{Region: region, Offset: offset, Before: slices.Clone(at), After: after},
	)
	copy(at, after)
}

func (w *writer) word(region, offset int) uint64 {
	return binary.LittleEndian.Uint64(w.memory[region][offset:])
}

// base is the address of a region.
func (w *writer) base(region int) uint64 { return uint64(w.recording.Regions[region].Address) }

// swapLine is a line of the swap: its instruction as it is written and as it is disassembled, and what it does with
// context from and to.
type swapLine struct {
	source, instruction string
	do                  func(from, to int)
}

// sampleAMD64 records that A swaps to B and B swaps back. With a fault, r12 is loaded from where r13 was saved.
func sampleAMD64(t testing.TB, faulty bool) *record.Recording {
	random := rand.New(rand.NewPCG(1, 2))
	w := &writer{t: t, arch: machine.AMD64, registers: map[string]uint64{}}
	w.recording = &record.Recording{
		Title: "A swaps to B, B swaps back", Arch: "amd64", Names: w.arch.Registers,
		Registers: map[string]record.Word{},
	}
	for i, name := range []string{"stack of A", "stack of B", "context of A", "context of B"} {
		size := 128
		if i >= contextA {
			size = 64
		}
		initial := make([]byte, size)
		for at := 0; at < size; at += 8 {
			binary.LittleEndian.PutUint64(initial[at:], random.Uint64())
		}
		w.recording.Regions = append(w.recording.Regions, record.Region{
			Name: name, Address: record.Word(0x7f3a5c000f80 + 0x11000*i), Initial: initial, Stack: i < contextA,
		})
		w.memory = append(w.memory, initial)
	}
	label := func(value uint64, format string, args ...any) uint64 {
		w.recording.Labels = append(
			w.recording.Labels, record.Label{Address: record.Word(value), Text: fmt.Sprintf(format, args...)},
		)
		return value
	}
	returns := [2]uint64{label(0x4011a6, "return address in A"), label(0x4012c9, "return address in B")}
	for _, name := range w.arch.Registers {
		w.registers[name] = random.Uint64()
	}
	saved := []string{"rbx", "rbp", "r12", "r13", "r14", "r15"}
	for i, name := range saved {
		label(w.registers[name], "%s of A", name)
		label(w.word(contextB, i*8), "%s of B", name)
	}
	const entry = 0x401740
	w.registers["rip"], w.registers["eflags"], w.registers["mxcsr"], w.registers["x87cw"] = entry, 0x246, 0x1f80, 0x37f
	w.registers["rsp"] = w.base(stackA) + 88
	binary.LittleEndian.PutUint64(w.memory[stackA][88:], returns[0])
	w.registers["rdi"], w.registers["rsi"] = w.base(contextA), w.base(contextB)
	binary.LittleEndian.PutUint64(w.memory[contextB][48:], w.base(stackB)+96)
	binary.LittleEndian.PutUint64(w.memory[contextB][56:], returns[1])
	for name, value := range w.registers {
		w.recording.Registers[name] = record.Word(value)
	}
	for i := range w.recording.Regions {
		w.recording.Regions[i].Initial, w.memory[i] = slices.Clone(w.memory[i]), slices.Clone(w.memory[i])
	}

	lines := []swapLine{{"popq    %rcx                        /* the return address */", "pop    %rcx", func(_, _ int) {
		stack := stackA
		if w.registers["rsp"] > w.base(stackB) {
			stack = stackB
		}
		w.set("rcx", w.word(stack, int(w.registers["rsp"]-w.base(stack))))
		w.set("rsp", w.registers["rsp"]+8)
	}}}
	for i, name := range append(saved, "rsp", "rcx") {
		lines = append(lines, swapLine{
			fmt.Sprintf("movq    %%%s, %d(%%rdi)", name, i*8), fmt.Sprintf("mov    %%%s,%#x(%%rdi)", name, i*8),
			func(from, _ int) {
				w.store(from, i*8, w.registers[name])
			},
		})
	}
	for i, name := range append(saved, "rsp", "rdx") {
		offset := i * 8
		if faulty && name == "r12" {
			offset += 8
		}
		lines = append(lines, swapLine{
			fmt.Sprintf("movq    %d(%%rsi), %%%s", offset, name),
			fmt.Sprintf("mov    %#x(%%rsi),%%%s", offset, name),
			func(_, to int) {
				w.set(name, w.word(to, offset))
			},
		})
	}
	lines = append(lines, swapLine{"jmp     *%rdx", "jmp    *%rdx", func(_, _ int) {}})
	source := []string{
		"/* A sample. </script><b>not bold</b> & so on */", "    .globl  marl_fiber_swap", "marl_fiber_swap:",
	}
	for _, line := range lines {
		source = append(source, "    "+line.source)
	}
	w.recording.Sources = map[string][]string{sampleFile: source}

	swap := func(from, to int) {
		for i, line := range lines {
			pc := uint64(entry + 4*i)
			w.step = record.Step{
				PC: record.Word(pc), Place: machine.Place{File: sampleFile, Line: 4 + i, Function: "marl_fiber_swap"},
				Source: line.source, Instruction: line.instruction, Next: record.Word(pc + 4),
			}
			line.do(from, to)
			if i == len(lines)-1 {
				w.step.Next = record.Word(w.registers["rdx"])
				w.step.Registers = append(
					w.step.Registers, record.Change{Register: "rip", Before: record.Word(pc), After: w.step.Next},
				)
			}
			w.recording.Steps = append(w.recording.Steps, w.step)
		}
	}
	swap(contextA, contextB)
	w.step = record.Step{
		Note: "B calls marl_fiber_swap", Next: entry,
		Registers: []record.Change{{Register: "rip", Before: record.Word(returns[1]), After: entry}},
	}
	w.set("rdi", w.base(contextB))
	w.set("rsi", w.base(contextA))
	w.set("rsp", w.registers["rsp"]-8)
	w.store(stackB, int(w.registers["rsp"]-w.base(stackB)), returns[1])
	w.recording.Steps = append(w.recording.Steps, w.step)
	swap(contextB, contextA)
	if faulty {
		w.recording.Findings = []record.Finding{
			{
				Step: 11, Text: "r12 comes back changed: saved at offset 16 (swap.S:7), loaded from 24 (swap.S:15)",
				Section: "2.3",
			},
			{Step: -1, Text: "a finding of no step", Section: "2.1"},
		}
	}
	return w.recording
}

// at returns a player of the recording at a position.
func at(t testing.TB, r *record.Recording, position int) *Player {
	t.Helper()
	p, err := Play(r)
	require.NoError(t, err)
	p.Go(position)
	return p
}
