package step

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fiberlab/labs/record"
)

// Listing writes all steps as text, a block each: the source line, the instruction, and what it did. The player ends
// where it was.
func (p *Player) Listing(w io.Writer, s Screen) error {
	defer p.Go(p.at)
	var b strings.Builder
	say := func(format string, args ...any) {
		b.WriteString(s.fold(strings.TrimRight(s.clean(fmt.Sprintf(format, args...)), " ")) + "\n")
	}
	p.Go(0)
	say("%s (%s, %s)", p.recording.Title, p.recording.Arch, count(p.Last(), "step"))
	for i, f := range p.recording.Findings {
		again := func(before record.Finding) bool { return told(before) == told(f) }
		if !slices.ContainsFunc(p.recording.Findings[:i], again) {
			say("wrong: %s", told(f))
		}
	}
	b.WriteByte('\n')
	say("at the start")
	for _, name := range p.Registers() {
		say("       %s = %s", name, p.described(p.Register(name)))
	}
	for p.At() < p.Last() {
		p.Go(p.At() + 1)
		step, _ := p.Step()
		b.WriteByte('\n')
		if step.Note != "" {
			say("%4d  %s", p.At(), step.Note)
		} else {
			say("%4d  %s  %s", p.At(), where(step), step.Source)
			say("       %s", step.Instruction)
		}
		for _, e := range p.Effects() {
			say("       %s", e)
		}
		if step.Fault != "" {
			say("       the program went no further: %s", step.Fault)
		}
		for _, f := range p.Findings() {
			say("     ! %s", told(f))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// described is a value with its meaning.
func (p *Player) described(value uint64) string {
	if meaning := p.Meaning(value); meaning != "" {
		return fmt.Sprintf("%#x, %s", value, meaning)
	}
	return fmt.Sprintf("%#x", value)
}

// told is a finding as a sentence.
func told(f record.Finding) string {
	if f.Section == "" {
		return f.Text
	}
	return fmt.Sprintf("%s (section %s)", f.Text, f.Section)
}

// count is a number of things, in the singular or the plural.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
