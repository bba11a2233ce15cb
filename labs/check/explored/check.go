package explored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"fiberlab/labs/explore"
	"fiberlab/labs/explore/verify"
	"fiberlab/labs/grade"
	"fiberlab/labs/machine"
)

// cpuTime bounds the processor time of a program. Numbers of schedules and of steps end a search before: it takes some
// seconds, or some ten in an emulator.
const cpuTime = 2 * time.Minute

// endless is the time of a search, which its number of schedules ends.
const endless = 24 * time.Hour

// calls are the system calls that a program may make in an emulator: the runtime makes them, or they end the program.
var calls = []string{
	"mmap", "munmap", "mprotect", "brk", "sigaltstack", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "setitimer",
	"clock_gettime", "write", "fstat", "newfstatat", "ioctl", "getpid", "gettid", "tgkill", "exit", "exit_group",
}

// check tries the schedules of the scenario.
func (s scenario) check(ctx context.Context, l *grade.Lab, b *grade.Bench) ([]grade.Fault, error) {
	path, err := link(ctx, b, s)
	if failed := new(explore.BuildError); errors.As(err, &failed) {
		return []grade.Fault{{Text: "it does not link with " + s.file + ": " + failed.Said}}, nil
	}
	if err != nil {
		return nil, err
	}
	if !b.Trusted {
		defer os.Remove(path)
	}
	program := &explore.Program{Path: path}
	if program.Command, err = command(b); err != nil {
		return nil, err
	}
	// The process ends with the thread that starts it, which is to live until then.
	runtime.LockOSThread()
	r, err := program.Run(ctx, explore.Options{
		Preemptions: s.preemptions, Schedules: min(s.schedules, cmp.Or(b.Schedules, s.schedules)), Time: endless,
		Seed: b.Random.Uint64N(1 << 32),
	})
	runtime.UnlockOSThread()
	switch {
	case errors.Is(err, explore.ErrNoResult):
		return []grade.Fault{{Text: s.file + ": " + err.Error()}}, nil
	case err != nil:
		return nil, err
	case r.Fault != nil:
		return []grade.Fault{s.fault(l, b, r)}, nil
	}
	if b.Trusted {
		return nil, nil
	}
	// That no schedule fails is what the program says. Whether it is true for some of them is seen from outside.
	schedules := watched
	if len(b.Options.Emulator) > 0 || b.Arch != machine.Native() {
		schedules = watchedEmulated
	}
	e := l.Examiner.(*examiner)
	v, err := verify.Program(ctx, path, verify.Options{
		Machine: b.Options, Seed: b.Random.Uint64(), Schedules: schedules, Calls: e.calls, Shared: e.shared,
	})
	if err != nil || v.Fault == nil {
		return nil, err
	}
	return []grade.Fault{{
		Text:  s.file + ": seen from outside, a schedule fails: " + v.Fault.Text + s.shown(l, v.Fault.Schedule),
		Place: v.Fault.Place, Schedule: v.Fault.Schedule,
	}}, nil
}

// So many schedules are run under control, step by step. In an emulator each step takes several times as long.
const watched, watchedEmulated = 20, 4

// command returns what makes a confined command of a program and its flags.
func command(b *grade.Bench) (func(argv []string) []string, error) {
	emulator := b.Options.Emulator
	if len(emulator) == 0 && b.Arch != machine.Native() {
		path, err := machine.FindEmulator(b.Arch)
		if err != nil {
			return nil, err
		}
		emulator = []string{path}
	}
	return func(argv []string) []string { return b.Options.Wrap(slices.Concat(emulator, argv)) }, nil
}

// fault says what is wrong, where, and how to see it.
func (s scenario) fault(l *grade.Lab, b *grade.Bench, r *explore.Result) grade.Fault {
	f := grade.Fault{Schedule: r.Schedule, Entered: entered(b, r, r.Entered)}
	for i, step := range r.Steps {
		at, source := place(b, r, step.PC), ""
		if at.File != "" {
			source = r.Text(r.Place(step.PC))
		}
		f.Steps = append(f.Steps, grade.Step{
			Thread: step.Thread, Place: at, Source: source, Does: r.Does(i), Preempts: step.Preempted,
			Callers: callers(b, r, step), Entered: entered(b, r, step.Entered),
		})
	}
	said := strings.TrimSuffix(r.Sentence(), ".")
	if last := lasts(f.Steps); len(last) > 0 {
		f.Place = last[0].Place
		var where []string
		for _, step := range last {
			where = append(where, within(step))
		}
		said += "; the last steps: " + strings.Join(where, "; ")
	}
	if len(f.Entered) > 0 {
		said += "; called since the last step: " + strings.Join(f.Entered, ", ")
	}
	said += "."
	for _, reason := range r.Reasons() {
		said += " " + reason
	}
	f.Text = said + s.shown(l, r.Schedule)
	return f
}

// shown says how to see a schedule; empty if there is none.
func (s scenario) shown(l *grade.Lab, schedule string) string {
	if schedule == "" {
		return ""
	}
	files := l.Home() + "/*.[cS]"
	if slices.Contains(l.Given, swap[0]) {
		files += " labs/swap/*.[cS]"
	}
	return fmt.Sprintf(" Schedule %s: to see it, build/labs explore %s %s/tests/%s --replay %[1]s", schedule, files,
		l.Home(), s.file)
}

// within says where a step was made: in which function, called by which, and after which.
func within(step grade.Step) string {
	said := fmt.Sprintf("thread %d in %s, %s:%d", step.Thread, step.Place.Function, step.Place.File, step.Place.Line)
	around := map[string]bool{step.Place.Function: true}
	for _, caller := range step.Callers {
		around[caller.Function] = true
		if !strings.HasPrefix(caller.File, "tests/") {
			said += fmt.Sprintf(", called by %s, %s:%d", caller.Function, caller.File, caller.Line)
		}
	}
	done := slices.DeleteFunc(slices.Clone(step.Entered), func(name string) bool { return around[name] })
	if len(done) > 0 {
		said += ", after " + strings.Join(done, ", ")
	}
	return said
}

// entered are the names of the submission's functions at these addresses, each once.
func entered(b *grade.Bench, r *explore.Result, addresses []explore.Address) (names []string) {
	for _, address := range addresses {
		at := place(b, r, address)
		if at.File != "" && !strings.HasPrefix(at.File, "tests/") && !slices.Contains(names, at.Function) {
			names = append(names, at.Function)
		}
	}
	return names
}

// callers are the lines from which the function of a step was called, and so on outwards.
func callers(b *grade.Bench, r *explore.Result, step explore.Step) (all []machine.Place) {
	for _, call := range step.Callers {
		if at := place(b, r, call); at.File != "" {
			all = append(all, at)
		}
	}
	return all
}

// lasts returns the last step of each thread in the submission's files, the latest first.
func lasts(steps []grade.Step) (last []grade.Step) {
	for i := len(steps) - 1; i >= 0; i-- {
		step := steps[i]
		same := func(s grade.Step) bool { return s.Thread == step.Thread }
		if inside := step.Place.File != "" && !strings.HasPrefix(step.Place.File, "tests/"); inside &&
			!slices.ContainsFunc(last, same) {
			last = append(last, step)
		}
	}
	return last
}

// place returns the line from which an address was made, if that is a line of the submission or of a scenario.
func place(b *grade.Bench, r *explore.Result, at explore.Address) machine.Place {
	p := r.Place(at)
	for _, folder := range []string{b.Dir, b.Built.(*around).given} {
		within := p.File
		if filepath.IsAbs(within) {
			within, _ = filepath.Rel(folder, within) // both are absolute
		}
		if filepath.IsLocal(within) {
			return machine.Place{File: within, Line: p.Line, Function: r.Function(at)}
		}
	}
	return machine.Place{}
}
