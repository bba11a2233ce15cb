package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fiberlab/bench"
	"fiberlab/bench/predict"
)

// reasons say for each workload what to look for. What they say of figures is made of the figures, elsewhere.
var reasons = map[string]string{
	"switch": "A bare switch is a dozen instructions that store and load registers. swapcontext asks the kernel for " +
		"each switch, threads wait in the kernel, and goroutines pass through the Go scheduler: see each row.",
	"create": "To make a fiber is to have a stack: a pooled one is a pointer, a new one is a mapping with its guard, " +
		"and its first page is a page fault.",
	"ring": "Each switch touches the context and the top of the stack of another fiber. While all of them fit into a " +
		"cache the cost is flat; it climbs where they no longer do.",
	"tasks": "A task takes a place in a queue, and a fiber; it takes no switch unless it waits. The rows differ in the " +
		"backend of the fibers, or in the policy, which has the queues.",
	"sync": "A primitive without a waiter is an atomic instruction; with one it is a switch, across threads a wake-up.",
	"wake": "A thread that sleeps must be woken by the kernel, which costs microseconds whatever runs on it.",
	"depth": "A switch exchanges registers, and leaves the stack where it is. What it adds to the calls does not grow " +
		"with the depth.",
	"registers": "The difference to none is what a group costs. A control word is cheap to store and dear to load: asm " +
		"compares it, and loads it where the sides differ.",
	"explore": "An explorer switches between the threads of a program, and decides what each access reads. So its speed " +
		"is the speed of its memory model.",
	"join": "A child that nobody steals can be called as a function. Whoever parks instead pays for two switches.",
}

// sectionOf shows a group: as rows beside each other, or as curves if it has an axis.
func sectionOf(g *bench.Group) section {
	var s section
	if g.Axis == "" {
		s = rowsSection(g)
	} else {
		s = curvesSection(g)
	}
	if g.Noise != "" {
		s.Text = append(s.Text, "No ratios are given: "+g.Noise+".")
	}
	s.Notes = g.Remarks()
	return s
}

// rowsSection lays rows beside each other.
func rowsSection(g *bench.Group) section {
	s := section{ID: g.Name, Title: g.Title, Head: []string{
		"row", "median", "95 % interval", "ratio to " + g.Base, "samples", "system calls", "instructions", "meaning",
	}}
	p := &plot{Kind: "rows", X: g.Unit}
	for i := range g.Rows {
		r := &g.Rows[i]
		p.add(r.Name, r.Median, r.Low, r.High, r.Samples)
		s.Rows = append(s.Rows, []string{
			r.Name, duration(r.Median), interval(r.Low, r.High), ratio(r), bench.Whole(float64(len(r.Samples))),
			calls(r), instructions(r), r.Sentence,
		})
	}
	cheapest, dearest := slices.MinFunc(g.Rows, byMedian), slices.MaxFunc(g.Rows, byMedian)
	text := "The axis is logarithmic: equal distances are equal factors. "
	if len(g.Rows) > 1 {
		text += fmt.Sprintf("From %s, %s, to %s, %s, it is a factor of %s. ", cheapest.Name, duration(cheapest.Median),
			dearest.Name, duration(dearest.Median), bench.Figure(dearest.Median/cheapest.Median))
	}
	s.Text = []string{text + reasons[g.Name]}
	if wide := slices.MaxFunc(g.Rows, bySpread); len(wide.Samples) > 3 {
		s.Text = append(s.Text, fmt.Sprintf("The samples of %s are the most scattered: the middle half of them spans "+
			"%s %% of the median. In a sample far to the right something else ran.", wide.Name, bench.Figure(100*wide.Spread())))
	}
	if g.Floor > 0 {
		p.Floor = &bench.Mark{At: bench.Rounded(g.Floor, 4), Label: "the same loop without a switch: " + duration(g.Floor)}
		s.Text = append(s.Text, fmt.Sprintf("The dashed line is the floor: the same loop without the operation takes %s. "+
			"That is %s %% of what %s takes.", duration(g.Floor), bench.Figure(100*g.Floor/cheapest.Median), cheapest.Name))
	}
	s.Plot, s.Listings = p, listings(g)
	return s
}

// listings are the rows of which the disassembly is known, with bars of their costs.
func listings(g *bench.Group) (all []listing) {
	longest := 0.0
	for _, r := range g.Rows {
		if r.Listing != "" {
			longest = max(longest, r.Median)
		}
	}
	for _, r := range g.Rows {
		if r.Listing == "" {
			continue
		}
		said := fmt.Sprintf("%s, 95 %% interval %s", duration(r.Median), interval(r.Low, r.High))
		if r.Instructions > 0 {
			said += fmt.Sprintf("; %s instructions", bench.Figure(r.Instructions))
		}
		all = append(all, listing{
			Name: r.Name, Said: said, Code: r.Listing,
			Width: bench.Rounded(100*r.Median/longest, 3), Floor: bench.Rounded(100*g.Floor/longest, 3),
		})
	}
	return all
}

func byMedian(a, b bench.Row) int { return cmp.Compare(a.Median, b.Median) }
func bySpread(a, b bench.Row) int { return cmp.Compare(a.Spread(), b.Spread()) }

func interval(low, high float64) string { return duration(low) + " to " + duration(high) }

func ratio(r *bench.Row) string {
	if r.Ratio == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", bench.Figure(r.Ratio), bench.Figure(r.RatioLow), bench.Figure(r.RatioHigh))
}

func calls(r *bench.Row) string {
	if r.SystemCalls == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *r.SystemCalls)
}

// instructions is how many instructions the processor has counted, or else how many the listing has.
func instructions(r *bench.Row) string {
	if n := cmp.Or(r.Executed, r.Instructions); n > 0 {
		return bench.Figure(n)
	}
	return "–"
}

// curvesSection draws a line for each name of rows, over the axis of the group. Each name has a row at each place.
func curvesSection(g *bench.Group) section {
	s := section{ID: g.Name, Title: g.Title, Head: []string{g.Axis}}
	p := &plot{Kind: "lines", X: g.Axis, Y: g.Unit, Marks: g.Marks}
	names := []string{}
	for _, r := range g.Rows {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
			p.Series = append(p.Series, series{Name: r.Name})
			s.Head = append(s.Head, r.Name, "95 % interval")
		}
		p.At = append(p.At, r.At)
	}
	slices.Sort(p.At)
	p.At = slices.Compact(p.At)
	for _, at := range p.At {
		cells := []string{bench.Whole(at)}
		for k, name := range names {
			line, r := &p.Series[k], g.Row(name, at)
			line.Values = append(line.Values, bench.Rounded(r.Median, 4))
			line.Low = append(line.Low, bench.Rounded(r.Low, 4))
			line.High = append(line.High, bench.Rounded(r.High, 4))
			cells = append(cells, duration(r.Median), interval(r.Low, r.High))
		}
		s.Rows = append(s.Rows, cells)
	}
	s.Text = append(s.Text, strings.TrimSpace("Both axes are logarithmic. "+reasons[g.Name]))
	if len(g.Marks) > 0 {
		s.Text = append(s.Text, "Each vertical line marks where a cache of this machine, or its TLB, is full. To the "+
			"right of it the cost climbs.")
	}
	for _, name := range names {
		s.Text = append(s.Text, growth(g, name, p.At[0], p.At[len(p.At)-1]))
	}
	s.Plot = p
	return s
}

// growth says what the rows of that name cost at both ends of the axis.
func growth(g *bench.Group, name string, from, to float64) string {
	first, last := g.Row(name, from).Median, g.Row(name, to).Median
	return fmt.Sprintf("With %s %s, %s takes %s; with %s it takes %s, %s times as much.", bench.Whole(from), g.Axis, name,
		duration(first), bench.Whole(to), duration(last), bench.Figure(last/first))
}

// guessesSection lays the guesses of each figure around what was measured.
func guessesSection(all []predict.Compared) section {
	s := section{
		ID: "guesses", Title: "Guesses, and what was measured",
		Head: []string{"row", "measured", "95 % interval", "guesses", "least", "middle", "most", "the middle one is"},
	}
	p := &plot{Kind: "rows", X: "ns", Guesses: true}
	for _, c := range all {
		middle := c.Middle()
		p.add(c.Name, c.Median, c.Low, c.High, c.Guesses)
		s.Rows = append(s.Rows, []string{
			c.Name, duration(c.Median), interval(c.Low, c.High), bench.Whole(float64(len(c.Guesses))),
			duration(slices.Min(c.Guesses)), duration(middle), duration(slices.Max(c.Guesses)), c.Verdict(middle),
		})
	}
	byOff := func(a, b predict.Compared) int { return cmp.Compare(a.Off(a.Middle()), b.Off(b.Middle())) }
	best, worst := slices.MinFunc(all, byOff), slices.MaxFunc(all, byOff)
	s.Text = []string{fmt.Sprintf("Each dot is a guess, and the bar is what was measured. The axis is logarithmic: "+
		"equal distances from the bar are equal factors. The middle guess of %s is %s.",
		best.Name, best.Verdict(best.Middle()))}
	if len(all) > 1 {
		s.Text = append(s.Text, fmt.Sprintf("It is the best one. The worst is that of %s: %s.",
			worst.Name, worst.Verdict(worst.Middle())))
	}
	s.Plot = p
	return s
}

// published has figures of other implementations, as their authors give them.
var published = section{
	ID: "published", Title: "Published figures",
	Text: []string{"Others have published these figures, measured on other machines and by other loops. They show the " +
		"order of magnitude, and cannot be divided by any figure above."},
	Head: []string{"what", "figure", "processor", "year", "source"},
	Rows: [][]string{
		{
			"Boost.Context, callcc on fcontext_t", "9 ns, 19 cycles", "two Intel Xeon E5-2620 v4 at 2.2 GHz", "2017",
			"Boost.Context 1.87, manual, Performance; gcc 6.3.1",
		},
		{
			"Boost.Context, callcc on ucontext_t", "547 ns, 1,130 cycles", "two Intel Xeon E5-2620 v4 at 2.2 GHz", "2017",
			"the same page",
		},
		{"minicoro, assembly", "9 cycles", "Intel Core i7-8750H at 2.2 GHz", "2021", "minicoro, README, Benchmarks"},
		{
			"Photon, yield with context-aware switching", "1.52 ns", "two Intel Xeon at 2.2 GHz", "2024",
			"Stackful Coroutine Made Fast, section Yield: less the cost of an empty loop; its own calling convention",
		},
		{"Photon, yield without it", "8.97 ns", "two Intel Xeon at 2.2 GHz", "2024", "the same page"},
	},
}
