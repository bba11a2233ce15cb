package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"

	"fiberlab/labs/explore"
	"fiberlab/labs/machine"
)

// claim is what the program's own runtime says of a schedule that followed a script.
type claim struct {
	Kept     bool           `json:"kept"` // false: the schedule ended before the script did
	Schedule string         `json:"schedule"`
	Fault    string         `json:"fault"` // its kind, or empty
	Text     string         `json:"text"`
	Steps    []explore.Step `json:"steps"`
}

// withWords has the program started with these arguments.
func withWords(o machine.Options, words ...string) machine.Options {
	inner := o.Wrap
	o.Wrap = func(argv []string) []string {
		argv = slices.Concat(argv, words)
		if inner != nil {
			return inner(argv)
		}
		return argv
	}
	o.Output, o.Errors, o.Limit = nil, nil, 0
	return o
}

// claimed has the program's own runtime follow the scripts, a part of them in each run, since it prints some 150 bytes
// a step. runs are the steps of each script.
func claimed(
	ctx context.Context, t *target, o Options, scripts []string, runs [][]explore.Step,
) (all []claim, err error) {
	const most = 20_000 // steps
	for len(scripts) > 0 {
		n, steps := 0, 0
		for n < len(scripts) && (n == 0 || steps+len(runs[n]) <= most) {
			steps += len(runs[n])
			n++
		}
		some, err := claims(ctx, t, o, scripts[:n])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < n {
			break
		}
		scripts, runs = scripts[n:], runs[n:]
	}
	return all, nil
}

// claims has the program's own runtime follow the scripts. It returns fewer claims than scripts if the program ends
// before, or prints what is no claim.
func claims(ctx context.Context, t *target, o Options, scripts []string) (all []claim, err error) {
	const most = 64 << 20
	var out, errors bytes.Buffer
	start := withWords(o.Machine, append([]string{"--follow"}, scripts...)...)
	start.Output, start.Errors, start.Limit = &out, &errors, most
	m, err := machine.Start(ctx, t.program, start)
	if err != nil {
		return nil, err
	}
	for {
		stop, err := m.Run(ctx)
		if err == nil && stop.Kind == machine.Signalled {
			err = m.Deliver(stop.Signal) // to the runtime's handler
			if stop.Signal == syscall.SIGURG {
				err = m.Deliver(0)
			}
		}
		if err != nil {
			_ = m.Close()
			return nil, err
		}
		if stop.Kind != machine.Signalled {
			break
		}
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, most)
	for lines.Scan() {
		var line struct {
			Followed *claim `json:"followed"`
		}
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"followed"`)) &&
			json.Unmarshal(lines.Bytes(), &line) == nil && line.Followed != nil {
			all = append(all, *line.Followed)
		}
	}
	return all, lines.Err()
}

// mostRecorded is how many steps of a schedule the program's own runtime records, as runtime/report.c has it.
const mostRecorded = 1 << 16

// compare looks for a schedule whose claimed steps are others than those that the program made, and puts it into r. If
// a schedule failed, it notes its string.
func (w *watch) compare(r *Result, claimed []claim, runs [][]explore.Step) {
	for i, made := range runs {
		failed := r.Fault != nil && i == len(runs)-1
		if i >= len(claimed) {
			if !failed {
				r.Fault = &Fault{
					Kind: Differs, Number: i + 1, Steps: made,
					Text: "The program ends, or goes on without an end, under its own runtime.",
				}
			}
			return
		}
		c := claimed[i]
		if failed {
			if c.Fault != "" {
				r.Fault.Schedule = c.Schedule
			}
			return
		}
		at, made := 0, made[:min(len(made), mostRecorded)]
		for at < len(made) && at < len(c.Steps) && w.same(made[at], c.Steps[at]) {
			at++
		}
		if at == len(made) && at == len(c.Steps) && c.Fault == "" && c.Kept {
			continue
		}
		r.Fault = differs(w.target, c, made, at)
		r.Fault.Number, r.Fault.Schedule = i+1, c.Schedule
		return
	}
}

// differs is the fault of a program whose step number at is another one than it claims.
func differs(t *target, c claim, made []explore.Step, at int) *Fault {
	f := &Fault{Kind: Differs, Steps: made[:min(at+1, len(made))]}
	does := "ends"
	if at < len(made) {
		f.Place, _ = t.program.Place(uint64(made[at].PC) - 1)
		does = tell(made[at])
	}
	says := "ends"
	if at < len(c.Steps) {
		says = tell(c.Steps[at])
	}
	f.Text = fmt.Sprintf("The program behaves otherwise when it is watched: in step %d it %s, and says that it %s.", at+1,
		does, says)
	if at == len(made) && at == len(c.Steps) {
		f.Text = "The program's own runtime says of a schedule without a fault: " + c.Text
	}
	return f
}

func tell(s explore.Step) string {
	text := fmt.Sprintf("does %s in thread %d", s.Op, s.Thread)
	if s.Address != 0 {
		text += fmt.Sprintf(" at %#x", uint64(s.Address))
	}
	if s.Value != nil {
		text += fmt.Sprintf(" and reads %d", *s.Value)
	}
	if s.Stored != nil {
		text += fmt.Sprintf(" and stores %d", *s.Stored)
	}
	return text
}

// same reports whether two steps are equal. It does not compare the values of plain accesses. A copy of a struct takes
// along what other calls have left between its members, and the steps that follow show the rest. Of an address
// on a stack only the thread is, since a thread has a caller within the runtime, but none here. The runtime keeps a
// byte of the size of a block.
func (w *watch) same(a, b explore.Step) bool {
	place := func(value uint64) uint64 {
		if stacks := (region{w.stackStart, mostThreads * stackSize}); stacks.has(value) {
			return (value - w.stackStart) / stackSize
		}
		return value
	}
	value := func(p *uint64) uint64 {
		if p == nil {
			return 0
		}
		return place(*p)
	}
	return a.Thread == b.Thread && a.PC == b.PC && a.Op == b.Op && a.Order == b.Order &&
		(a.Op == "free" || a.Size == b.Size) &&
		place(uint64(a.Address)) == place(uint64(b.Address)) && (a.Op == "read" || value(a.Value) == value(b.Value)) &&
		(a.Op == "write" || value(a.Stored) == value(b.Stored))
}
