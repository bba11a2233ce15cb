package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"fiberlab/bench"
	"fiberlab/bench/submission"
	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/fiber"
	labcommand "fiberlab/labs/command"
	"fiberlab/sched"
	"fiberlab/sched/uring"
	"fiberlab/sched/uring/fiberio"
)

// lab is what the commands work with.
type lab struct {
	stdout, stderr io.Writer
	open           wordcount.Opener // nil, except in tests that need a file to fail
	// countOnFibers is wordcount.Count, except in tests that need it to be wrong.
	countOnFibers func(context.Context, []wordcount.File, wordcount.Options) (*wordcount.Result, error)
	// traps is demo.Traps, except in tests that need others.
	traps func() []demo.Trap
}

func newLab(stdout, stderr io.Writer) *lab {
	return &lab{stdout: stdout, stderr: stderr, countOnFibers: wordcount.Count, traps: demo.Traps}
}

// run is the lab's main job: it counts words on each backend under each policy and compares the counts with
// a sequential one, then measures the switch-cost table. If counts disagree, it reports them and fails.
func (l *lab) run(ctx context.Context, o options) error {
	r := report{Machine: thisMachine()}
	p := newProgress(l.stderr, o.json)
	err := l.count(ctx, o, p, &r)
	if err == nil && !o.noTable {
		r.SwitchCost, err = measure(ctx, o, p)
	}
	return l.finish(o, r, err)
}

// bench measures only the switch-cost table.
func (l *lab) bench(ctx context.Context, o options) error {
	r := report{Machine: thisMachine()}
	rows, err := measure(ctx, o, newProgress(l.stderr, o.json))
	r.SwitchCost = rows
	return l.finish(o, r, err)
}

// benchSwap measures the swap in the folder dir beside the mechanisms that are nearest to it.
func (l *lab) benchSwap(ctx context.Context, o options, dir string) error {
	r := report{Machine: thisMachine(), Swap: dir}
	measured := false
	err := submission.With(ctx, dir, func(yours bench.Mechanism) (err error) {
		measured = true
		o.bench.Mechanisms = []bench.Mechanism{named("asm"), named("asm-nofp"), yours, named("ucontext")}
		r.SwitchCost, err = measure(ctx, o, newProgress(l.stderr, o.json))
		return err
	})
	if !measured {
		err = labcommand.Unbuilt(l.stderr, err)
		if errors.As(err, new(labcommand.Status)) {
			fmt.Fprintf(
				l.stderr, "fiberlab: --swap %s: the files do not build: they must hold the swap of lab %s, for %s\n",
				dir, submission.Lab().Number, runtime.GOARCH,
			)
		}
		return err
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("--swap %s: %w: fiberlab grade %s says where it goes wrong", dir, err, submission.Lab().Number)
	}
	return l.finish(o, r, err)
}

// named returns the mechanism of package bench with that name.
func named(name string) bench.Mechanism {
	all := bench.Mechanisms()
	return all[slices.IndexFunc(all, func(m bench.Mechanism) bool { return m.Name == name })]
}

// finish releases what is pooled and checks that nothing is left. Unless err is set, it writes the report.
func (l *lab) finish(o options, r report, err error) error {
	err = errors.Join(err, release())
	if err == nil {
		err = r.write(l.stdout, o.json)
	}
	if err == nil {
		err = errors.Join(r.disagreement(), r.absence(), r.notShown())
	}
	var bad *wordcount.DirectoryError
	if err == nil || errors.As(err, &bad) {
		return err
	}
	return failure{err}
}

// count fills in the pipeline's part of r.
func (l *lab) count(ctx context.Context, o options, p *progress, r *report) error {
	dir := o.dir
	if dir == "" {
		var err error
		if dir, err = goSources(ctx); err != nil {
			return err
		}
	}
	tree, err := wordcount.Walk(ctx, dir, l.open)
	if err != nil {
		return err
	}
	if len(tree.Files) == 0 {
		return fmt.Errorf(
			"no text file below %s%s: name another directory", tree.Root, unreadableRemark(tree.Unreadable),
		)
	}
	for _, s := range o.settings {
		p.expect(s.label)
	}
	p.say("%s: %s text files, %s", tree.Root, thousands(len(tree.Files)), megabytes(tree.Bytes))

	phase := p.phase("plain", tree.Bytes)
	debug.FreeOSMemory() // before each count, so that none finds memory that another one has got from the kernel
	start := time.Now()
	plain, err := wordcount.CountSequentially(ctx, tree.Files, wordcount.Options{Open: l.open, Progress: &phase.done})
	phase.end()
	if err != nil {
		return err
	}
	r.Pipeline = newPipelineReport(tree, plain, time.Since(start))
	p.say("plain: %s words in %s", thousands(plain.Words()), seconds(r.Pipeline.Seconds))

	r.Pipeline.Workers = o.workers
	for _, s := range o.settings {
		recorder := o.traces.recorder()
		phase := p.phase(s.label, tree.Bytes)
		debug.FreeOSMemory()
		start := time.Now()
		counting := wordcount.Options{
			Scheduler: sched.Config{
				Name: "wordcount", Workers: o.workers, Policy: s.policy, Groups: o.groups, Backend: s.backend,
				Recorder: recorder,
			},
			Open: l.open, Progress: &phase.done,
		}
		end := readBy(ctx, o.io, &counting)
		got, err := l.countOnFibers(ctx, tree.Files, counting)
		err = errors.Join(err, end())
		phase.end()
		if err != nil {
			return err
		}
		c := r.Pipeline.add(s, got, plain, time.Since(start))
		c.describe(got, recorder, o.states)
		if o.stats {
			c.addGroups(got.Stats.Groups)
		}
		p.say("%s: %s words, %s switches in %s", c.label, thousands(c.Words), thousands(c.Switches), seconds(c.Seconds))
		if err := o.traces.write(s, recorder); err != nil {
			return err
		}
	}
	return nil
}

// readBy has the files read by engines, if there are options for some, which end ends.
func readBy(ctx context.Context, engines *uring.Options, counting *wordcount.Options) (end func() error) {
	if engines == nil {
		return func() error { return nil }
	}
	e := uring.New(*engines)
	e.Attach(&counting.Scheduler)
	if counting.Open == nil {
		counting.Open = func(path string) (io.ReadCloser, error) {
			f, err := fiberio.Open(ctx, e, path)
			if err != nil {
				return nil, err // not a nil *fiberio.File
			}
			return f, nil
		}
	}
	return e.Close
}

// unreadableRemark says how many files could not be read, as the end of a message; it is empty if all could.
func unreadableRemark(list []wordcount.Unreadable) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d could not be read, among them %v)", len(list), list[0])
}

// measure makes the switch-cost table.
func measure(ctx context.Context, o options, p *progress) ([]bench.SwitchCost, error) {
	if o.bench.Mechanisms == nil {
		o.bench.Mechanisms = bench.Mechanisms()
	}
	phase := p.phase(switchCost, int64(o.bench.Rounds*len(o.bench.Mechanisms)))
	defer phase.end()
	return bench.Measure(ctx, o.bench, func(done, _ int) { phase.done.Store(int64(done)) })
}

// release empties the pool of fibers and checks that nothing is left.
func release() error {
	if err := fiber.Drain(); err != nil {
		return err
	}
	if left := fiber.ReadStats(); left != (fiber.Stats{}) {
		return fmt.Errorf("leaked: %+v", left)
	}
	return nil
}
