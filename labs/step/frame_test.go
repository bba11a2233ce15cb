package step

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"

	"fiberlab/labs/record"
)

func frameText(p *Player, s Screen, v view) string { return strings.Join(p.frame(s, v), "\n") }

// At each size each line fits, there are no more lines than rows, and what the step changed is seen.
func TestFramesFit(t *testing.T) {
	p := at(t, sampleAMD64(t, true), 0)
	for _, size := range [][2]int{
		{1, 1}, {39, 24}, {40, 12}, {50, 15}, {60, 20}, {77, 24}, {80, 24}, {81, 25}, {120, 45}, {250, 90},
	} {
		for position := range p.Last() + 1 {
			p.Go(position)
			for _, v := range []view{{}, {values: true}, {regions: onlyStacks}, {regions: onlyOthers}} {
				s := Screen{Terminal: true, Columns: size[0], Rows: size[1]}
				lines := p.frame(s, v)
				require.LessOrEqual(t, len(lines), s.Rows)
				for _, line := range lines {
					require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), s.Columns, "%q", line)
				}
			}
		}
	}
}

func TestFrameOf80x24(t *testing.T) {
	p := at(t, sampleAMD64(t, true), 12)
	s := Screen{Terminal: true, Columns: 80, Rows: 24}
	shown := frameText(p, s, view{})
	for _, want := range []string{
		"A swaps to B, B swaps back (amd64)                  on stack of A  step 12 of 37",
		"!  15      movq    24(%rsi), %r12",
		"! r12 comes back changed: saved at offset 16 (swap.S:7), loaded from 24",
		"  mov    0x18(%rsi),%r12",
		"*r12    0daa842c4130b474 r13 of B",
		"  rsp> +0x60  ", "saved> +0x60  ",
		"<+0x18  = r13 of B",
		"── stack of A at 0x7f3a5c000f80 ─────── ── stack of B at 0x7f3a5c011f80 ───",
	} {
		require.Contains(t, shown, want)
	}
	require.Less(t, strings.Index(shown, "+0x68"), strings.Index(shown, "rsp> +0x60"), "high addresses stand above")
	require.NotContains(t, shown, "\x1b")

	require.Contains(t, frameText(p, s, view{values: true}), "rsp    00007f3a5c000fe0")
	require.NotContains(t, frameText(p, s, view{regions: onlyStacks}), "context of B at")
	require.NotContains(t, frameText(p, s, view{regions: onlyOthers}), "stack of B at")

	p.Go(4)
	require.Regexp(t, `(?m)\*\+0x10  = r12 of A`, frameText(p, s, view{}))
	require.Contains(t, frameText(p, s, view{}), ">   7      movq    %r12, 16(%rdi)")
	p.Go(19)
	require.Contains(t, frameText(p, s, view{}), "  B calls marl_fiber_swap")
	p.Go(0)
	require.Contains(t, frameText(p, s, view{}), "before the first step")
}

func TestColours(t *testing.T) {
	p := at(t, sampleAMD64(t, true), 12)
	s := Screen{Terminal: true, Columns: 80, Rows: 24, Colours: true}
	require.Contains(t, frameText(p, s, view{}), "\x1b[1;33m*r12 ")
	require.Contains(t, frameText(p, s, view{}), "\x1b[1;31;7m!  15  ")
	p.Go(11)
	require.Contains(t, frameText(p, s, view{}), "\x1b[7m>  14  ")
	require.Contains(t, frameText(p, s, view{}), "\x1b[36m      <+0x8 ")
}

// What a student has written can neither move the cursor nor make a line longer than the screen.
func TestHostileText(t *testing.T) {
	r := sampleAMD64(t, true)
	const evil = "\x1b[2J\u009b31m\t漢字\u202e\r\n\a"
	r.Title += evil
	r.Sources[sampleFile][4] = evil + strings.Repeat("漢", 100)
	r.Steps[1].Source, r.Steps[1].Instruction, r.Steps[1].Fault = evil, "mov "+evil, evil
	r.Regions[stackA].Name += evil
	r.Labels = append(r.Labels, record.Label{Address: r.Registers["rcx"], Text: evil})
	r.Findings[0].Text += evil
	for _, ascii := range []bool{false, true} {
		p := at(t, r, 2)
		s := Screen{Columns: 80, Rows: 24, ASCII: ascii}
		var listing bytes.Buffer
		require.NoError(t, p.Listing(&listing, s))
		shown := frameText(p, s, view{})
		for _, r := range shown + listing.String() {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q", r)
			require.True(t, !ascii || r < 0x80, "%q", r)
		}
		for line := range strings.Lines(shown) {
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")), 80)
		}
	}
}

func TestListing(t *testing.T) {
	p := at(t, sampleAMD64(t, true), 5)
	var b bytes.Buffer
	require.NoError(t, p.Listing(&b, Screen{}))
	require.Equal(t, 5, p.At())
	require.True(t, strings.HasPrefix(b.String(), `A swaps to B, B swaps back (amd64, 37 steps)
wrong: r12 comes back changed: saved at offset 16 (swap.S:7), loaded from 24 (swap.S:15) (section 2.3)
wrong: a finding of no step (section 2.1)

at the start
       rip = 0x401740, swap.S:4
`), b.String())
	require.Contains(t, b.String(), `

   1  swap.S:4  popq    %rcx                        /* the return address */
       pop    %rcx
       rcx = 0x4011a6, return address in A, from stack of A +0x58
       rsp = 0x7f3a5c000fe0, stack of A +0x60

   2  swap.S:5`)
	require.Contains(t, b.String(), `
  12  swap.S:15  movq    24(%rsi), %r12
       mov    0x18(%rsi),%r12
       r12 = 0xdaa842c4130b474, r13 of B, from context of B +0x18
     ! r12 comes back changed: saved at offset 16 (swap.S:7), loaded from 24 (swap.S:15) (section 2.3)
`)
	require.Contains(t, b.String(), "\n  19  B calls marl_fiber_swap\n")
}

func TestSearch(t *testing.T) {
	p := at(t, sampleAMD64(t, true), 0)
	for _, position := range []int{5, 13, 24, 32, 5} { // where r13 is named
		require.True(t, p.Find("%R13"))
		require.Equal(t, position, p.At())
	}
	require.False(t, p.Find("nowhere"))
	require.Equal(t, 5, p.At())
	require.True(t, p.Find("return address in b, from"))
	require.Equal(t, 17, p.At())
	require.True(t, p.NextFinding())
	require.Equal(t, 12, p.At())
	p.recording.Findings = nil
	require.False(t, p.NextFinding())
}
