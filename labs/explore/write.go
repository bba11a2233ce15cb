package explore

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	widest     = 120 // columns of a line
	fewest     = 72  // columns that the steps of all threads need
	numbers    = 6   // columns of a step's number
	narrowest  = 36  // columns that a thread needs beside others
	indent     = 8   // from one thread to the next, if there is no room for that
	unbounded  = 0
	lineIndent = 4   // of what a step does, below its source
	shown      = 500 // steps, the last ones
)

// Write shows what the result says about the program, and the schedule that fails, with a column for each thread. No
// line is longer than columns; 0 stands for 120, and less than 72 for 72.
func (r *Result) Write(w io.Writer, columns int) error {
	if columns <= 0 || columns > widest {
		columns = widest
	}
	columns = max(columns, fewest)
	var b strings.Builder
	say := func(line string) {
		for l := range strings.SplitSeq(text.WrapSoft(clean(line), columns), "\n") {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	if r.Fault == nil {
		say(r.passed())
	} else {
		say(r.failed())
		if len(r.Steps) > 0 {
			b.WriteByte('\n')
			if left := len(r.Steps) - shown; left > 0 {
				say(fmt.Sprintf("The first %s are left out here; --json has them.", counted(left, "step")))
			}
			r.writeSteps(&b, columns)
			b.WriteByte('\n')
		}
		if r.preemptions() > 0 {
			say("> marks a preemption: the thread of the step before could have gone on.")
		}
		for _, line := range r.Reasons() {
			say(line)
		}
		if r.Schedule != "" {
			say("Schedule: " + r.Schedule)
		}
	}
	if len(r.Outcomes) > 0 {
		say("Outcomes: " + strings.Trim(fmt.Sprint(r.Outcomes), "[]"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// passed says what a search without a failure covers, and no more.
func (r *Result) passed() string {
	said := r.tried()
	if r.options.Stops > 0 {
		said += fmt.Sprintf(" In a schedule, at most %s stopped and never went on.", counted(r.options.Stops, "thread"))
	}
	return said
}

// tried says which schedules were tried, of which none fails.
func (r *Result) tried() string {
	tried := counted(r.Schedules, "schedule")
	switch {
	case r.options.Replay != "":
		return "This schedule does not fail."
	case r.Complete && r.options.Preemptions == unbounded:
		return fmt.Sprintf("No schedule fails: %s ran in %.2f s, and any other one is equivalent to one of them.", tried,
			r.Seconds)
	case r.Complete:
		return fmt.Sprintf(
			"No schedule with at most %s fails: all of these were tried, %s in %.2f s. One that needs more may fail.",
			counted(max(r.options.Preemptions, 0), "preemption"), tried, r.Seconds,
		)
	case r.Random == r.Schedules && r.Random > 0:
		return fmt.Sprintf("None of %s fails, drawn from seed %d, in %.2f s. Others were not tried.%s", tried, r.Seed,
			r.Seconds, r.PCT.bound())
	}
	more := ""
	if r.Random > 0 {
		more = fmt.Sprintf(" Of these %s drawn from seed %d.", were(r.Random), r.Seed)
	}
	return fmt.Sprintf("None of %s fails, in %.2f s. Others were not tried.%s%s", tried, r.Seconds, more, r.PCT.bound())
}

// bound says how probable it is that random schedules have missed a fault; empty: nothing is known.
func (p *PCT) bound() string {
	if p == nil {
		return ""
	}
	var missed []string
	for preemptions := range 3 {
		missed = append(missed, rounded(p.Missed(preemptions+1)))
	}
	return fmt.Sprintf(" If old values do not matter, a fault that needs 0, 1 or 2 preemptions is missed with a"+
		" probability of at most %s, %s or %s (PCT: %s, %s).", missed[0], missed[1], missed[2],
		counted(p.Threads, "thread"), counted(p.Choices, "choice"))
}

// rounded returns a probability, rounded up, and not below the smallest that is worth a line.
func rounded(p float64) string {
	const smallest = 1e-99
	if p < smallest {
		return "1e-99"
	}
	digit := math.Pow(10, math.Floor(math.Log10(p)))
	return strconv.FormatFloat(min(1, math.Ceil(p/digit)*digit), 'g', 1, 64)
}

func were(n int) string {
	if n == 1 {
		return "1 was"
	}
	return thousands(n) + " were"
}

// failed says that a schedule fails, and how it was found.
func (r *Result) failed() string {
	said := "A schedule fails: "
	if r.options.Replay != "" {
		said = "This schedule fails: "
	}
	said += r.Sentence()
	if r.options.Replay != "" {
		return said
	}
	preempted := r.preemptions()
	said += fmt.Sprintf(" It has %s.", counted(preempted, "preemption"))
	if preempted > 0 && r.Bound >= preempted-1 {
		said += " None with fewer fails."
	}
	return said + fmt.Sprintf(" The search has tried %s.", counted(r.Schedules, "schedule"))
}

// preemptions returns how many preemptions the schedule has.
func (r *Result) preemptions() (n int) {
	for _, s := range r.Steps {
		if s.Preempted {
			n++
		}
	}
	return n
}

// switches returns the steps that follow a preemption. The runtime notes it in the first step at which it could switch,
// and plain accesses of the same thread may come before that.
func (r *Result) switches() map[int]bool {
	marked := map[int]bool{}
	for i, s := range r.Steps {
		if s.Preempted {
			for i > 0 && r.Steps[i-1].Thread == s.Thread {
				i--
			}
			marked[i] = true
		}
	}
	return marked
}

// counted returns the number with the noun, as English has it.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands returns the number with a comma after each three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// writeSteps writes the table: a row for each step, in the column of its thread.
func (r *Result) writeSteps(b *strings.Builder, columns int) {
	threads := 0
	for _, s := range r.Steps {
		threads = max(threads, s.Thread+1)
	}
	width := (columns - numbers) / threads
	room := func(int) int { return width - 2 }
	if width < narrowest { // each thread begins further right, and writes over the columns of the next ones
		width = indent
		room = func(thread int) int { return columns - numbers - thread*indent }
	}
	head := " step "
	for t := range threads {
		name := fmt.Sprintf("thread %d", t)
		if width == indent {
			name = fmt.Sprintf("thr. %d", t)
		}
		head += fmt.Sprintf("%-*s", width, name)
	}
	b.WriteString(strings.TrimRight(head, " ") + "\n")
	source, marked := r.program.read(), r.switches()
	before, line := -1, ""
	for i := max(0, len(r.Steps)-shown); i < len(r.Steps); i++ {
		s := r.Steps[i]
		at := source.place(s.PC)
		code := fmt.Sprintf("%d %s", at.Line, source.text(at))
		if source.text(at) == "" {
			code = ""
		}
		above := s.Thread == before && code == line // the line is there already
		before, line = s.Thread, code
		if above {
			code = ""
		}
		for n, part := range cell(clean(code), clean(r.Does(i)), room(s.Thread)) {
			number := ""
			if n == 0 {
				number = strconv.Itoa(i + 1)
			}
			if n == 0 && marked[i] {
				number = "> " + number
			}
			fmt.Fprintf(b, "%5s %s%s\n", number, strings.Repeat(" ", s.Thread*width), part)
		}
	}
}

// cell returns the lines of a step: its source, cut to one line, and what it does.
func cell(code, does string, room int) (lines []string) {
	if len(code) > room {
		code = code[:room-len("...")] + "..."
	}
	switch {
	case code == "":
		return folded("  // "+does, room)
	case does == "":
		return []string{code}
	case len(code)+len("  // ")+len(does) <= room:
		return []string{code + "  // " + does}
	}
	return append([]string{code}, folded("  // "+does, room)...)
}

// folded breaks a line; what follows the first part is indented.
func folded(line string, room int) []string {
	if len(line) <= room {
		return []string{line}
	}
	lead := len(line) - len(strings.TrimLeft(line, " "))
	parts := strings.Split(text.WrapSoft(strings.TrimLeft(line, " "), room-lead-lineIndent), "\n")
	for i, p := range parts {
		blanks := lead
		if i > 0 {
			blanks += lineIndent
		}
		parts[i] = strings.Repeat(" ", blanks) + strings.TrimRight(p, " ")
	}
	return parts
}

// clean makes text harmless for a terminal: the source of a program may be in it.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}
