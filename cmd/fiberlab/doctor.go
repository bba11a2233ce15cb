package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"fiberlab/fiber"
	"fiberlab/sched/uring"
	"fiberlab/stack"
)

// diagnosis is what fiberlab has found on this machine, and what it makes of it.
type diagnosis struct {
	Kernel   string     `json:"kernel"`
	Backends []string   `json:"backends"`
	Backend  string     `json:"default_backend"`
	Why      string     `json:"default_reason,omitempty"` // why Default is not asm
	Refused  string     `json:"refused,omitempty"`        // why backends asm and ucontext do not work in this process
	Guards   string     `json:"guards"`                   // of stacks
	IO       ioFindings `json:"io"`
}

// ioFindings says by what input and output is done.
type ioFindings struct {
	Driver   string      `json:"driver"`
	Reason   string      `json:"reason,omitempty"` // why it is not uring
	Features []ioFeature `json:"features"`
}

// ioFeature is one part of io_uring.
type ioFeature struct {
	Name    string `json:"name"`
	Present bool   `json:"present"`
	Why     string `json:"why"` // what it is good for, or why it is missing
}

func (l *lab) doctorCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Report the parts of this machine that fiberlab uses, and why",
		Long: `Reports which Go, kernel and architecture this is, which backends fibers have and whether they
work, how stacks are guarded, and by
which driver input and output is done: uring, where the kernel lets this process have an io_uring, or epoll.
For epoll it says why. Then come the parts of io_uring that fiberlab uses, and what each is good for, or why it
is missing.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("doctor %s: it takes no arguments", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if err := checkEnvironment(); err != nil {
				return err
			}
			d, err := diagnose()
			if err != nil {
				return failure{err}
			}
			return l.finish(o, report{Machine: thisMachine(), Doctor: d}, nil)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document")
	return c
}

func diagnose() (*diagnosis, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("uname: %w", err)
	}
	backend, err := fiber.Default.Resolve()
	if err != nil {
		return nil, err
	}
	why := ""
	if fallback, reason := fiber.Fallback(); fallback == backend {
		why = reason
	}
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return nil, err
	}
	refused := ""
	if err := fiber.Supported(); err != nil {
		refused = err.Error()
	}
	d := &diagnosis{
		Kernel:   unix.ByteSliceToString(name.Release[:]),
		Backends: backendNames(),
		Backend:  backend.String(),
		Why:      why,
		Refused:  refused,
		Guards:   pool.Stats().Guard.String(),
		IO:       findIO(uring.Probe()),
	}
	return d, pool.Close()
}

func findIO(found uring.Report) ioFindings {
	f := ioFindings{Driver: found.Driver.String(), Features: []ioFeature{}}
	if found.Reason != nil {
		f.Reason = found.Reason.Error()
	}
	for _, feature := range found.Features {
		f.Features = append(f.Features, ioFeature(feature))
	}
	return f
}

func (d *diagnosis) writeText(p *page, on machine) {
	p.say("fiberlab %s", version())
	p.say("kernel: %s; %s", d.Kernel, counted(on.CPUs, "processor"))
	p.say("backends of fibers: %s; the default is %s", strings.Join(d.Backends, ", "), d.Backend)
	if d.Why != "" {
		p.say("  %s", d.Why)
	}
	if d.Refused != "" {
		p.say("  asm and ucontext do not work here: %s", d.Refused)
	}
	p.say("guards of stacks: by %s", d.Guards)
	p.say("input and output: driver %s", d.IO.Driver)
	if d.IO.Reason != "" {
		p.say("  %s", d.IO.Reason)
	}
	for _, f := range d.IO.Features {
		word := "has"
		if !f.Present {
			word = "lacks"
		}
		p.say("  %s %s: %s", word, f.Name, f.Why)
	}
}
