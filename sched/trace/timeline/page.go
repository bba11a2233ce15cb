// Package timeline shows a recorded run as a page for browsers: workers, fibers and tasks as lines of slices, with
// arrows from each notification to where the fiber went on.
//
//	page.go    the page, with the whole trace packed into it
//	page.html  its frame; page.css: its looks; page.js: it reads the trace, draws, searches and sums up
package timeline

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"

	_ "fiberlab/internal/platform"
)

// ErrFormat is wrapped by the errors about what is no trace.
var ErrFormat = errors.New("it is no trace in JSON: `fiberlab run --trace FILE.json` writes one")

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page.html").Parse(pageHTML))
)

// keys are the keys of the page, and what they do.
var keys = [][2]string{
	{"← →", "slice before, after"}, {"↑ ↓", "line above, below"}, {"w s", "zoom in, out"}, {"a d", "move"},
	{"f", "fit the selection"}, {"0", "the whole run"}, {"[ ]", "a span begins, ends here"}, {"Esc", "no span"},
	{"g", "along the arrow"}, {"/", "search"}, {"n p", "next, previous match"},
}

// Write writes a page that shows a trace in a browser. It needs no other file and no network. The trace is in the Trace
// Event format, as [trace.Recorder.WriteTrace] writes it. The error wraps [ErrFormat], or is the error of w.
func Write(w io.Writer, title string, trace []byte) error {
	var has struct{ TraceEvents []struct{} }
	if err := json.Unmarshal(trace, &has); err != nil {
		return fmt.Errorf("timeline: %w: %w", ErrFormat, err)
	}
	if has.TraceEvents == nil {
		return fmt.Errorf("timeline: %w: it has no traceEvents", ErrFormat)
	}
	var packed bytes.Buffer // no write to it fails
	text := base64.NewEncoder(base64.StdEncoding, &packed)
	zipped := gzip.NewWriter(text)
	zipped.Write(trace)
	zipped.Close()
	text.Close()
	err := pageTemplate.Execute(w, map[string]any{
		"Title": title, "CSS": template.CSS(pageCSS), "JS": template.JS(pageJS), "Keys": keys,
		"Trace": template.HTML(packed.String()),
	})
	if err != nil {
		return fmt.Errorf("timeline: write: %w", err)
	}
	return nil
}
