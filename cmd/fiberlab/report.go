package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"fiberlab/bench"
	"fiberlab/fiber"
)

// report is what a command found; with --json it is the document on standard output. Times are in the
// units that the names say.
type report struct {
	Machine    machine         `json:"machine"`
	Pipeline   *pipelineReport `json:"pipeline,omitempty"`
	SwitchCost []bench.Row     `json:"switch_cost,omitempty"`
}

type machine struct {
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// pipelineReport is the plain count of one tree, and how each backend's count compares with it.
type pipelineReport struct {
	Dir        string          `json:"dir"`
	Files      int             `json:"files"` // read to their end
	Bytes      int64           `json:"bytes"`
	OtherFiles int             `json:"other_files"` // not text: left alone
	Words      int             `json:"words"`
	Distinct   int             `json:"distinct_words"`
	Seconds    float64         `json:"seconds"`
	Workers    int             `json:"workers"` // of each scheduler
	Backends   []backendReport `json:"backends"`
	Agree      bool            `json:"agree"`
	Unreadable []unreadable    `json:"unreadable"`
}

type backendReport struct {
	Backend     string         `json:"backend"`
	Files       int            `json:"files"`
	Words       int            `json:"words"`
	Distinct    int            `json:"distinct_words"`
	Tasks       int            `json:"tasks"`
	Blocked     int            `json:"blocked"`  // tasks at once, when the last of them had begun
	Switches    int            `json:"switches"` // to a fiber
	Seconds     float64        `json:"seconds"`
	Agrees      bool           `json:"agrees"`
	Difference  string         `json:"difference,omitempty"`    // the first one, if it does not agree
	Absent      []string       `json:"absent_states,omitempty"` // states that no fiber was in
	Workers     []workerReport `json:"worker_activity"`
	Stages      []stageReport  `json:"stages"`
	Transitions []transition   `json:"transitions,omitempty"` // with --states
}

// stageReport is where the time of all tasks of one kind went, in seconds, added up.
type stageReport struct {
	Name    string  `json:"name"`
	Tasks   int     `json:"tasks"`
	Running float64 `json:"running_seconds"`
	Queued  float64 `json:"queued_seconds"`  // they could have gone on, but others ran on their worker
	Blocked float64 `json:"blocked_seconds"` // they waited for another task
}

// workerReport is what one worker of a scheduler did.
type workerReport struct {
	Worker   int     `json:"worker"`          // its number
	Bound    bool    `json:"bound,omitempty"` // it is the goroutine that has begun the tasks
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

func newPipelineReport(t tree, plain *tally, took time.Duration) *pipelineReport {
	p := &pipelineReport{
		Dir:        t.root,
		Files:      len(t.text) - len(plain.failures),
		Bytes:      t.bytes,
		OtherFiles: t.other,
		Words:      plain.words(),
		Distinct:   plain.distinct(),
		Seconds:    took.Seconds(),
		Backends:   []backendReport{},
		Agree:      true,
		Unreadable: append([]unreadable{}, t.unreadable...),
	}
	for i, file := range t.text {
		if err := plain.failures[i]; err != nil {
			p.Unreadable = append(p.Unreadable, newUnreadable(file.path, err))
		}
	}
	return p
}

// add compares the count that backend b made with the plain one, appends the result and returns it. The
// result is valid until the next one is added.
func (p *pipelineReport) add(b fiber.Backend, got, plain *tally, files []textFile, took time.Duration) *backendReport {
	br := backendReport{
		Backend:    b.String(),
		Files:      len(files) - len(got.failures),
		Words:      got.words(),
		Distinct:   got.distinct(),
		Seconds:    took.Seconds(),
		Difference: got.difference(plain, files),
	}
	br.Agrees = br.Difference == ""
	p.Agree = p.Agree && br.Agrees
	p.Backends = append(p.Backends, br)
	return &p.Backends[len(p.Backends)-1]
}

// disagreement is an error that names each backend that departs from the plain count, or nil.
func (r report) disagreement() error {
	if r.Pipeline == nil {
		return nil
	}
	var errs []error
	for _, br := range r.Pipeline.Backends {
		if !br.Agrees {
			errs = append(errs, fmt.Errorf("%s disagrees with the plain count: %s (did a file change meanwhile? run again)",
				br.Backend, br.Difference))
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
