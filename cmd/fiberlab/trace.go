package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fiberlab/sched/trace"
)

// tracedEvents is how many transitions of each worker a trace holds. Older ones are dropped.
const tracedEvents = 1 << 17

// traces are the files for the traces, one for each setting. A nil *traces has none.
type traces struct {
	files map[setting]*os.File
}

// createTraces makes the files before the work begins, so that a wrong path is reported at once. An empty
// path means no traces.
func createTraces(path string, list []setting) (*traces, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--trace: %s is a directory: name a file", path)
	}
	t := &traces{files: map[setting]*os.File{}}
	for _, s := range list {
		name := path
		if len(list) > 1 {
			ext := filepath.Ext(path)
			name = strings.TrimSuffix(path, ext) + s.fileInfix() + ext
		}
		f, err := os.Create(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--trace: %w", err), t.close())
		}
		t.files[s] = f
	}
	return t, nil
}

// recorder returns a recorder for one scheduler. It keeps events only if a trace will be written.
func (t *traces) recorder() *trace.Recorder {
	if t == nil {
		return trace.NewRecorder(0)
	}
	return trace.NewRecorder(tracedEvents)
}

// write writes the trace of one setting.
func (t *traces) write(s setting, r *trace.Recorder) error {
	if t == nil {
		return nil
	}
	if err := r.WriteTrace(t.files[s]); err != nil {
		return fmt.Errorf("--trace: %s: %w", t.files[s].Name(), err)
	}
	return nil
}

// close closes the files. The file of a setting whose count was not made stays empty.
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
