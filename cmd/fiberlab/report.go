package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"fiberlab/bench"
	"fiberlab/cmd/fiberlab/demo"
	"fiberlab/cmd/fiberlab/serve"
	"fiberlab/cmd/fiberlab/wordcount"
	"fiberlab/labs/explore"
)

// report is what a command found; with --json it is the document on standard output. The names of times
// say their units.
type report struct {
	Machine    machine         `json:"machine"`
	Pipeline   *pipelineReport `json:"pipeline,omitempty"`
	SwitchCost *bench.Group    `json:"switch_cost,omitempty"`
	Explored   *explored       `json:"explored,omitempty"`
	Schedules  *explore.Result `json:"schedules,omitempty"`
	LostWakeup []*demo.Shown   `json:"lost_wakeup,omitempty"`
	Deadlock   *demo.Joins     `json:"deadlock,omitempty"`
	Served     *serve.Figures  `json:"served,omitempty"`
	Doctor     *diagnosis      `json:"doctor,omitempty"`
}

type machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// pipelineReport is the plain count of one tree, and how the counts on fibers compare with it.
type pipelineReport struct {
	Dir        string        `json:"dir"`
	Files      int           `json:"files"` // read to their end
	Bytes      int64         `json:"bytes"`
	OtherFiles int           `json:"other_files"` // not text, not counted
	Words      int           `json:"words"`
	Distinct   int           `json:"distinct_words"`
	Seconds    float64       `json:"seconds"`
	Workers    int           `json:"workers"` // of each scheduler
	Backends   []countReport `json:"backends"`
	Agree      bool          `json:"agree"`
	Unreadable []unreadable  `json:"unreadable"`
}

// unreadable is a file or directory that could not be read to its end.
type unreadable struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// countReport is one count on fibers: on one backend, under one policy.
type countReport struct {
	label       string         // of its setting
	Backend     string         `json:"backend"`
	Policy      string         `json:"policy"`
	Files       int            `json:"files"`
	Words       int            `json:"words"`
	Distinct    int            `json:"distinct_words"`
	Tasks       int            `json:"tasks"`
	Blocked     int            `json:"blocked"`  // tasks at once, before the first file was opened
	Switches    int            `json:"switches"` // to a fiber
	Seconds     float64        `json:"seconds"`
	Agrees      bool           `json:"agrees"`
	Difference  string         `json:"difference,omitempty"`    // the first one, if it does not agree
	Entered     []entered      `json:"entered_states"`          // each of the five
	Absent      []string       `json:"absent_states,omitempty"` // in which no fiber ever was
	Workers     []workerReport `json:"worker_activity"`
	Stages      []stageReport  `json:"stages"`
	Transitions []transition   `json:"transitions,omitempty"` // with --states
	Groups      []groupReport  `json:"groups,omitempty"`      // with --stats, under policy group
}

// stageReport is where the time of all tasks of one kind went, in seconds.
type stageReport struct {
	Name    string  `json:"name"`
	Tasks   int     `json:"tasks"`
	Running float64 `json:"running_seconds"`
	Queued  float64 `json:"queued_seconds"`  // ready, while other tasks ran
	Blocked float64 `json:"blocked_seconds"` // waiting for other tasks
}

// workerReport is what one worker of a scheduler did.
type workerReport struct {
	Worker   int     `json:"worker"`          // its number
	Bound    bool    `json:"bound,omitempty"` // the goroutine that started the tasks
	Tasks    int     `json:"tasks"`           // begun
	Switches int     `json:"switches"`        // to a fiber
	Stolen   int     `json:"stolen"`          // tasks, from other workers
	Sleeps   int     `json:"sleeps"`
	Busy     float64 `json:"busy_seconds"`
	Idle     float64 `json:"idle_seconds"`
}

func thisMachine() machine {
	return machine{runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()}
}

func newPipelineReport(t *wordcount.Tree, plain *wordcount.Tally, took time.Duration) *pipelineReport {
	p := &pipelineReport{
		Dir:        t.Root,
		Files:      len(t.Files) - len(plain.Failed()),
		Bytes:      t.Bytes,
		OtherFiles: t.Other,
		Words:      plain.Words(),
		Distinct:   plain.Distinct(),
		Seconds:    took.Seconds(),
		Backends:   []countReport{},
		Agree:      true,
		Unreadable: []unreadable{},
	}
	list := t.Unreadable
	for _, f := range plain.Failed() {
		list = append(list, wordcount.Unreadable{Path: f.Path, Err: f.Err})
	}
	for _, u := range list {
		p.Unreadable = append(p.Unreadable, unreadable{u.Path, u.Reason()})
	}
	return p
}

// add compares a count on fibers with the plain one, appends the result and returns it. The result is
// valid until the next call of add.
func (p *pipelineReport) add(
	s setting, got *wordcount.Result, plain *wordcount.Tally, took time.Duration,
) *countReport {
	c := countReport{
		label:      s.label,
		Backend:    s.backend.String(),
		Policy:     s.policy.String(),
		Files:      len(got.Files) - len(got.Failed()),
		Words:      got.Words(),
		Distinct:   got.Distinct(),
		Seconds:    took.Seconds(),
		Difference: got.Difference(plain),
	}
	c.Agrees = c.Difference == ""
	p.Agree = p.Agree && c.Agrees
	p.Backends = append(p.Backends, c)
	return &p.Backends[len(p.Backends)-1]
}

// labels lists the settings of the counts.
func (p *pipelineReport) labels() (list []string) {
	for _, c := range p.Backends {
		list = append(list, c.label)
	}
	return list
}

// policies lists the policies of the counts, each once.
func (p *pipelineReport) policies() []string {
	var list []string
	for _, c := range p.Backends {
		if !slices.Contains(list, c.Policy) {
			list = append(list, c.Policy)
		}
	}
	return list
}

// disagreement is an error that names each count that departs from the plain one, or nil.
func (r report) disagreement() error {
	if r.Pipeline == nil {
		return nil
	}
	var errs []error
	for _, c := range r.Pipeline.Backends {
		if !c.Agrees {
			errs = append(
				errs,
				fmt.Errorf("%s disagrees with the plain count: %s (did a file change meanwhile? run again)",
					c.label, c.Difference),
			)
		}
	}
	return errors.Join(errs...)
}

func (r report) write(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.writeText(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
