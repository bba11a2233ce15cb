package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// tracedEvents is how many transitions of each worker a trace holds: the latest ones.
const tracedEvents = 1 << 17

// traces are the files for the traces, one for each backend. A nil one is none.
type traces struct {
	files map[fiber.Backend]*os.File
}

// createTraces makes the files, so that what is wrong with them is known before the work begins. An empty path
// means none.
func createTraces(path string, backends []fiber.Backend) (*traces, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--trace: %s is a directory: name a file", path)
	}
	t := &traces{files: map[fiber.Backend]*os.File{}}
	for _, b := range backends {
		name := path
		if len(backends) > 1 {
			ext := filepath.Ext(path)
			name = strings.TrimSuffix(path, ext) + "." + b.String() + ext
		}
		f, err := os.Create(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--trace: %w", err), t.close())
		}
		t.files[b] = f
	}
	return t, nil
}

// recorder returns what the scheduler shall record with: all if there is a trace to be written, else counts.
func (t *traces) recorder(b fiber.Backend) *sched.Recorder {
	if t == nil {
		return sched.NewRecorder(0)
	}
	return sched.NewRecorder(tracedEvents)
}

// write writes the trace of one backend.
func (t *traces) write(b fiber.Backend, r *sched.Recorder) error {
	if t == nil {
		return nil
	}
	if err := r.WriteTrace(t.files[b]); err != nil {
		return fmt.Errorf("--trace: %s: %w", t.files[b].Name(), err)
	}
	return nil
}

// close closes the files. Those of backends whose work was not done are left empty.
func (t *traces) close() error {
	if t == nil {
		return nil
	}
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
