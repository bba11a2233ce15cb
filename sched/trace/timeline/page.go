package timeline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page.html").Parse(pageHTML))
)

// placeForData stands in page.html where the data belongs.
var placeForData = []byte("@data@")

// keys are the keys of the page, and what they do.
var keys = [][2]string{
	{"← →", "slice before, after"}, {"↑ ↓", "line above, below"}, {"w s", "zoom in, out"}, {"a d", "move"},
	{"f", "fit the selection"}, {"0", "the whole run"}, {"[ ]", "a span begins, ends here"}, {"Esc", "no span"},
	{"g", "along the arrow"}, {"/", "search"}, {"n p", "next, previous match"},
}

// WriteHTML writes a page that shows the timeline in a browser. It needs no other file and no network. The error is
// that of w.
func (t *Timeline) WriteHTML(w io.Writer, title string) error {
	var page bytes.Buffer
	err := pageTemplate.Execute(&page, map[string]any{
		"Title": title, "CSS": template.CSS(pageCSS), "JS": template.JS(pageJS), "Keys": keys,
		"Counts": fmt.Sprintf("slices: %d, instants: %d, arrows: %d", len(t.slices), len(t.instants), len(t.arrows)),
	})
	if err != nil {
		return fmt.Errorf("timeline: write: %w", err)
	}
	at := bytes.LastIndex(page.Bytes(), placeForData) // the title may hold the same text
	head, tail := page.Bytes()[:at], page.Bytes()[at+len(placeForData):]
	out := bufio.NewWriter(w)
	out.Write(head) // an error of out comes again from Flush
	text := base64.NewEncoder(base64.StdEncoding, out)
	packed := gzip.NewWriter(text)
	err = json.NewEncoder(packed).Encode(t.data())
	if err != nil {
		return fmt.Errorf("timeline: write: %w", err)
	}
	packed.Close()
	text.Close()
	out.Write(tail)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("timeline: write: %w", err)
	}
	return nil
}

// columns are lists of numbers, one for each field of what is listed. They pack better than a list of objects.
type columns map[string][]int64

// data is all that the page draws.
func (t *Timeline) data() any {
	return map[string]any{
		"lanes":   each(t.lanes, func(l lane) lane { return l }),
		"strings": each(t.strings.list, func(s string) string { return s }),
		"details": each(t.details.list, func(s string) json.RawMessage { return json.RawMessage(s) }),
		"slices": columns{
			"since":  differences(t.slices, func(s slice) int64 { return s.since }),
			"took":   each(t.slices, func(s slice) int64 { return s.until - s.since }),
			"class":  each(t.slices, func(s slice) int64 { return s.class }),
			"name":   each(t.slices, func(s slice) int64 { return s.name }),
			"detail": each(t.slices, func(s slice) int64 { return s.detail }),
		},
		"instants": columns{
			"at":     differences(t.instants, func(i instant) int64 { return i.at }),
			"class":  each(t.instants, func(i instant) int64 { return i.class }),
			"name":   each(t.instants, func(i instant) int64 { return i.name }),
			"detail": each(t.instants, func(i instant) int64 { return i.detail }),
		},
		"arrows": columns{
			"from":  differences(t.arrows, func(a arrow) int64 { return a.from }),
			"took":  each(t.arrows, func(a arrow) int64 { return a.to - a.from }),
			"start": each(t.arrows, func(a arrow) int64 { return a.start }),
			"end":   each(t.arrows, func(a arrow) int64 { return a.end }),
		},
	}
}

// each is never nil, which would be null in JSON.
func each[T, N any](list []T, of func(T) N) []N {
	column := make([]N, len(list))
	for i, v := range list {
		column[i] = of(v)
	}
	return column
}

// differences are those of each value to the one before. Small numbers pack better.
func differences[T any](list []T, of func(T) int64) []int64 {
	column := each(list, of)
	for i := len(column) - 1; i > 0; i-- {
		column[i] -= column[i-1]
	}
	return column
}
