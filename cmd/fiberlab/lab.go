package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"fiberlab/bench"
	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/fiber"
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

// tableLimit is how long the switch-cost table of a run may take.
const tableLimit = 5 * time.Second

// run is the lab's main job: it counts words on each backend under each policy and compares the counts with
// a sequential one, then measures the switch-cost table. If counts disagree, it reports them and fails.
func (l *lab) run(ctx context.Context, o options) error {
	r := report{Machine: thisMachine()}
	p := newProgress(l.stderr, o.json)
	err := l.count(ctx, o, p, &r)
	if err == nil && !o.noTable {
		o.bench.Workloads = []bench.Workload{bench.Switch()}
		o.bench.Limit = tableLimit
		var found *bench.Report
		if found, err = measure(ctx, o.bench, p); err == nil {
			r.SwitchCost = &found.Groups[0]
			if found.Machine.Emulated {
				r.SwitchCost.Notes = append(r.SwitchCost.Notes, emulated)
			}
		}
	}
	return l.finish(o, r, err)
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

// readBy makes engines that read the files, unless engines is nil. The caller calls end after the count: it closes
// them.
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
