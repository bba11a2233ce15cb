package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"fiberlab/bench"
	"fiberlab/fiber"
	"fiberlab/sched"
)

// lab is what the commands work with.
type lab struct {
	stdout, stderr io.Writer
	open           opener
	// countOnFibers is the pipeline, except in tests that need it to be wrong.
	countOnFibers func(context.Context, sched.Config, []textFile, opener, *atomic.Int64) (*tally, activity, error)
}

func newLab(stdout, stderr io.Writer) *lab {
	return &lab{stdout: stdout, stderr: stderr, open: openFile, countOnFibers: countOnFibers}
}

// run is the lab's main job: the pipeline on each backend against the plain count, then the switch-cost
// table. It reports also when backends disagree, and then fails.
func (l *lab) run(ctx context.Context, o options) error {
	r := report{Machine: thisMachine()}
	p := newProgress(l.stderr, o.json)
	err := l.count(ctx, o, p, &r)
	if err == nil && !o.noTable {
		r.SwitchCost, err = measure(ctx, o, p)
	}
	return l.finish(o, r, err)
}

// bench measures the switch-cost table alone.
func (l *lab) bench(ctx context.Context, o options) error {
	r := report{Machine: thisMachine()}
	rows, err := measure(ctx, o, newProgress(l.stderr, o.json))
	r.SwitchCost = rows
	return l.finish(o, r, err)
}

// finish releases what is pooled, makes sure that nothing is left, and reports unless err says that
// there is nothing to report.
func (l *lab) finish(o options, r report, err error) error {
	err = errors.Join(err, release())
	if err == nil {
		err = r.write(l.stdout, o.json)
	}
	if err == nil {
		err = errors.Join(r.disagreement(), r.absence())
	}
	var bad *badDirectory
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
	t, err := walk(ctx, dir, l.open)
	if err != nil {
		return err
	}
	if len(t.text) == 0 {
		return fmt.Errorf("no text file below %s%s", t.root, t.firstUnreadable())
	}
	p.say("%s: %s text files, %s", t.root, thousands(len(t.text)), megabytes(t.bytes))

	stage := p.stage("plain", t.bytes)
	start := time.Now()
	plain, err := countPlainly(ctx, t.text, l.open, &stage.done)
	stage.end()
	if err != nil {
		return err
	}
	r.Pipeline = newPipelineReport(t, plain, time.Since(start))
	p.say("plain: %s words in %s", thousands(plain.words()), seconds(r.Pipeline.Seconds))

	r.Pipeline.Workers = o.workers
	for _, b := range o.backends {
		recorder := o.traces.recorder(b)
		stage := p.stage(b.String(), t.bytes)
		start := time.Now()
		got, active, err := l.countOnFibers(ctx, sched.Config{Name: "pipeline", Workers: o.workers, Backend: b, Recorder: recorder},
			t.text, l.open, &stage.done)
		stage.end()
		if err != nil {
			return err
		}
		br := r.Pipeline.add(b, got, plain, t.text, time.Since(start))
		br.describe(active, recorder, o.states)
		p.say("%s: %s words, %s switches in %s", br.Backend, thousands(br.Words), thousands(br.Switches), seconds(br.Seconds))
		if err := o.traces.write(b, recorder); err != nil {
			return err
		}
	}
	return nil
}

// measure makes the switch-cost table.
func measure(ctx context.Context, o options, p *progress) ([]bench.Row, error) {
	stage := p.stage("switch cost", int64(o.bench.Rounds*len(bench.Mechanisms())))
	defer stage.end()
	return bench.Measure(ctx, o.bench, func(done, _ int) { stage.done.Store(int64(done)) })
}

// release empties the pool of fibers and checks that nothing is held any more.
func release() error {
	if err := fiber.Drain(); err != nil {
		return err
	}
	if left := fiber.ReadStats(); left != (fiber.Stats{}) {
		return fmt.Errorf("leaked: %+v", left)
	}
	return nil
}
