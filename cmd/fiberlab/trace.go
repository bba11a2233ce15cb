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

// tracedEvents is how many events of each worker a trace holds. Older ones are dropped.
const tracedEvents = 1 << 17

// perfettoExt is the extension of a trace in Perfetto's own format; all others are JSON.
const perfettoExt = ".pftrace"

// traces names the files for what is recorded: --trace and --timeline, either of which may be empty.
type traces struct {
	trace, timeline string
	several         bool // settings: each has files of its own
}

// create makes the files before the work begins, so that a wrong path is reported at once.
func (t *traces) create(list []setting) error {
	if t.trace != "" && t.timeline != "" && filepath.Clean(t.trace) == filepath.Clean(t.timeline) {
		return fmt.Errorf("--timeline %s: the trace is written there: name another file", t.timeline)
	}
	t.several = len(list) > 1
	nothing := func(io.Writer) error { return nil }
	for _, s := range list {
		if err := errors.Join(t.file("trace", t.trace, s, nothing), t.file("timeline", t.timeline, s, nothing)); err != nil {
			return err
		}
	}
	return nil
}

// recorder returns a recorder for one scheduler. It keeps events only if a file will be written.
func (t *traces) recorder() *trace.Recorder {
	if t.trace == "" && t.timeline == "" {
		return trace.NewRecorder(0)
	}
	return trace.NewRecorder(tracedEvents)
}

// write writes the files of one setting.
func (t *traces) write(s setting, r *trace.Recorder) error {
	asTrace := r.WriteTrace
	if filepath.Ext(t.trace) == perfettoExt {
		asTrace = r.WritePerfetto
	}
	asPage := func(w io.Writer) error {
		var recorded bytes.Buffer
		if err := r.WriteTrace(&recorded); err != nil {
			return err
		}
		return timeline.Write(w, "fiberlab run", recorded.Bytes())
	}
	return errors.Join(t.file("trace", t.trace, s, asTrace), t.file("timeline", t.timeline, s, asPage))
}

// file writes the file of one setting that the flag names.
func (t *traces) file(flag, path string, s setting, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&(os.ModeDir|os.ModeNamedPipe) != 0 {
		return fmt.Errorf("--%s: %s is a directory or a named pipe: name a file", flag, path)
	}
	if t.several {
		ext := filepath.Ext(path)
		path = strings.TrimSuffix(path, ext) + s.fileInfix() + ext
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("--%s: %s: %w", flag, path, err)
	}
	return nil
}
