package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"fiberlab/labs/explore"
)

// points is the workload of explorers of schedules. Before each of its atomic accesses a thread may lose its turn.
func points() Workload {
	return Workload{
		Name: "explore", Title: "An atomic exchange of a program whose schedules are drawn", Operation: "schedule point",
		Base: "explore",
		Rivals: []Mechanism{
			{Name: "explore", Says: "the compiler's marks, and the memory model of RC11", Open: openExplorer},
			{
				Name: "relacy", Says: "a library of types for C++, and the memory model of C++11", Open: openProgram(
					"relacy.cc", "relacy/relacy.hpp", "apt-get install relacy-dev", "-std=c++11", "-w", "-DNDEBUG",
				),
			},
		},
	}
}

// explored is a program whose schedules have 100 points each. A process runs them for each sample.
type explored struct {
	runtime *explore.Runtime
	program *explore.Program
}

func openExplorer() (s Session, err error) {
	e := &explored{}
	if e.runtime, err = explore.NewRuntime(context.Background(), ""); err != nil {
		return nil, &Absent{err.Error(), "apt-get install gcc"}
	}
	dir, err := os.MkdirTemp("", "fiberlab-bench-")
	if err != nil {
		return nil, errors.Join(err, e.runtime.Close())
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.CopyFS(dir, programs); err != nil {
		return nil, errors.Join(err, e.runtime.Close())
	}
	source := filepath.Join(dir, "programs", "points.c")
	if e.program, _, err = e.runtime.Build(context.Background(), []string{source}, explore.BuildOptions{}); err != nil {
		return nil, errors.Join(err, e.runtime.Close())
	}
	return e, nil
}

func (e *explored) Run(n int) (Sample, error) {
	const points = 100
	schedules := max(1, n/points)
	r, err := e.program.Run(
		context.Background(), explore.Options{Random: true, Schedules: schedules, Time: 24 * time.Hour},
	)
	if err != nil {
		return Sample{}, err
	}
	return Sample{points * schedules, time.Duration(r.Seconds * float64(time.Second))}, nil
}

func (e *explored) Close() error { return errors.Join(e.program.Close(), e.runtime.Close()) }
