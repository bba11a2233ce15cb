// Package record runs a program one instruction at a time and keeps what each instruction changed: registers, and bytes
// of the memory that is watched. A grader finds in a recording where a value went,
// a reader sees it instruction by instruction.
package record

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fiberlab/labs/machine"
)

// Word is a value of a register or an address. In JSON it is a string of hexadecimal digits, since many readers of JSON
// keep numbers to 53 bits.
type Word uint64

// String returns the word as in 0x7ffe12.
func (w Word) String() string { return fmt.Sprintf("%#x", uint64(w)) }

// MarshalText makes the string of String.
func (w Word) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads it back.
func (w *Word) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), "0x")
	value, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return fmt.Errorf("word %q: write it as 0x and hexadecimal digits", text)
	}
	*w = Word(value)
	return nil
}

// Region is a piece of memory that is watched: a context, or a part of a stack.
type Region struct {
	Name    string `json:"name"` // for a reader: "context of A", "stack of B"
	Address Word   `json:"address"`
	Initial []byte `json:"initial"` // its bytes before the first step; its length is the size of the region
	Stack   bool   `json:"stack"`   // whether it is shown as a stack, high addresses above
}

// Change is what an instruction did to one register.
type Change struct {
	Register string `json:"register"`
	Before   Word   `json:"before"`
	After    Word   `json:"after"`
}

// Write is what an instruction changed in a region: the bytes from Offset on.
type Write struct {
	Region int    `json:"region"` // index in Recording.Regions
	Offset int    `json:"offset"`
	Before []byte `json:"before"`
	After  []byte `json:"after"`
}

// Elsewhere is what an instruction changed in no region: the bytes from Address on.
type Elsewhere struct {
	Address Word   `json:"address"`
	Symbol  string `json:"symbol,omitempty"` // the variable there
	Before  []byte `json:"before"`
	After   []byte `json:"after"`
}

// Variable returns the name of the submission's variable there, or "" if e is nil or there is none: names that begin
// with lab_ are the harness's.
func (e *Elsewhere) Variable() string {
	if e == nil || strings.HasPrefix(e.Symbol, "lab_") {
		return ""
	}
	return e.Symbol
}

// Step is one instruction that has run.
type Step struct {
	PC    Word          `json:"pc"`
	Place machine.Place `json:"place"` // zero without line information
	// the text of that line, without its indentation; empty if it is not known
	Source      string `json:"source"`
	Instruction string `json:"instruction"`      // disassembled, in the syntax of the GNU assembler
	System      bool   `json:"system,omitempty"` // whether it is a system call
	// without the program counter if it only went on to the next instruction
	Registers []Change `json:"registers"`
	Memory    []Write  `json:"memory"`
	// the address of the memory that the instruction names, or 0: see machine.Operand
	Operand Word `json:"operand,omitempty"`
	// what it changed outside of the regions, where it names an operand there
	Elsewhere *Elsewhere `json:"elsewhere,omitempty"`
	Next      Word       `json:"next"` // the program counter afterwards
	// why the program stood still here, for the last step of a program that failed
	Fault string `json:"fault,omitempty"`
	// "B calls marl_fiber_swap": who changed all this from outside, for a step that is no instruction
	Note string `json:"note,omitempty"`
}

// jumps are the instructions of both architectures that may set the program counter to another one than the next.
var jumps = regexp.MustCompile(`^((rep|repn?[ez]|bnd|notrack) )*(call|ret|j|(b|bl|blr|br|cbn?z|tbn?z)( |$)|b\.)`)

// Jumps reports whether the step's instruction may go elsewhere than to the next one:
// a jump, a branch, a call or a return.
func (s Step) Jumps() bool {
	return jumps.MatchString(s.Instruction)
}

// SetsDirection reports whether the step's instruction may have set the direction flag of amd64.
func (s Step) SetsDirection() bool {
	return strings.HasPrefix(s.Instruction, "std") || strings.HasPrefix(s.Instruction, "popf")
}

// Recording is a run of steps.
type Recording struct {
	Title     string              `json:"title"`
	Arch      string              `json:"arch"`
	Names     []string            `json:"names"`     // the registers, in the order in which they are shown
	Registers map[string]Word     `json:"registers"` // before the first step
	Regions   []Region            `json:"regions"`
	Labels    []Label             `json:"labels"`
	Steps     []Step              `json:"steps"`
	Sources   map[string][]string `json:"sources"` // the lines of each source that steps come from, by Place.File
	Findings  []Finding           `json:"findings,omitempty"`
}

// Finding is what a grader says about a step.
type Finding struct {
	Step    int    `json:"step"` // index in Recording.Steps; -1: it does not know the step
	Text    string `json:"text"`
	Section string `json:"section"` // of the handout
}

// Label says what an address is, or a value that was drawn for the run: "return address in A", "rbx of A". An address
// within a region needs none.
type Label struct {
	Address Word   `json:"address"`
	Text    string `json:"text"`
}
