package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fiberlab/sched/trace"
	"fiberlab/sched/trace/timeline"
)

// tracedEvents is how many transitions of each worker a trace holds. Older ones are dropped.
const tracedEvents = 1 << 17

// perfettoExt is the extension of a trace in Perfetto's own format; all others are JSON.
const perfettoExt = ".pftrace"

// traces are the files for what is recorded: of each setting a trace, a timeline, or both. A nil *traces has none.
type traces struct {
	files []traceFile
}

type traceFile struct {
	setting setting
	flag    string // by which it was asked for
	*os.File
	write func(io.Writer, *trace.Recorder) error
}

// create makes the files of a flag before the work begins, so that a wrong path is reported at once. An empty path
// means none.
func (t *traces) create(flag, path string, list []setting, write func(io.Writer, *trace.Recorder) error) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("--%s: %s is a directory: name a file", flag, path)
	}
	for _, s := range list {
		name := path
		if len(list) > 1 {
			ext := filepath.Ext(path)
			name = strings.TrimSuffix(path, ext) + s.fileInfix() + ext
		}
		f, err := os.Create(name)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		t.files = append(t.files, traceFile{s, flag, f, write})
	}
	return nil
}

// createTraces makes the files of --trace and --timeline, either of which may be empty.
func createTraces(path, page string, list []setting) (*traces, error) {
	if path != "" && filepath.Clean(path) == filepath.Clean(page) {
		return nil, fmt.Errorf("--timeline %s: the trace is written there: name another file", page)
	}
	t := &traces{}
	err := t.create("trace", path, list, func(w io.Writer, r *trace.Recorder) error {
		if filepath.Ext(path) == perfettoExt {
			return r.WritePerfetto(w)
		}
		return r.WriteTrace(w)
	})
	if err == nil {
		err = t.create("timeline", page, list, writeTimeline)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// writeTimeline writes the page of what r has recorded.
func writeTimeline(w io.Writer, r *trace.Recorder) error {
	var recorded bytes.Buffer
	if err := r.WriteTrace(&recorded); err != nil {
		return err
	}
	return timeline.Write(w, "fiberlab run", recorded.Bytes())
}

// recorder returns a recorder for one scheduler. It keeps events only if a file will be written.
func (t *traces) recorder() *trace.Recorder {
	if t == nil || len(t.files) == 0 {
		return trace.NewRecorder(0)
	}
	return trace.NewRecorder(tracedEvents)
}

// write writes the files of one setting.
func (t *traces) write(s setting, r *trace.Recorder) error {
	if t == nil {
		return nil
	}
	for _, f := range t.files {
		if f.setting != s {
			continue
		}
		if err := f.write(f, r); err != nil {
			return fmt.Errorf("--%s: %s: %w", f.flag, f.Name(), err)
		}
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
