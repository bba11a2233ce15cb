package timeline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
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
	{"g", "along the arrow"}, {"/", "search"}, {"n p", "next, previous match"}, {"t", "light or dark"},
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
	t.pack(packed)
	packed.Close()
	text.Close()
	out.Write(tail)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("timeline: write: %w", err)
	}
	return nil
}

// header says what is in the columns.
type header struct {
	Lanes    []lane            `json:"lanes"`
	Slices   int               `json:"slices"`
	Instants int               `json:"instants"`
	Arrows   int               `json:"arrows"`
	Strings  []string          `json:"strings"`
	Details  []json.RawMessage `json:"details"`
}

// pack writes the length of the header, the header, padded with spaces to a multiple of 4 bytes, and then the columns.
// These are 32-bit numbers in little-endian order. A time takes two columns, of its lower and its upper half. Times of
// beginnings are differences to the one before, since small numbers pack better.
func (t *Timeline) pack(w io.Writer) {
	// None is an empty list in JSON, and not null.
	h := header{Lanes: append([]lane{}, t.lanes...), Strings: append([]string{}, t.strings.list...),
		Details: []json.RawMessage{}, Slices: len(t.slices), Instants: len(t.instants), Arrows: len(t.arrows)}
	for _, d := range t.details.list {
		h.Details = append(h.Details, json.RawMessage(d))
	}
	text, err := json.Marshal(h)
	if err != nil {
		panic(err) // of strings and numbers it cannot be
	}
	for len(text)%4 != 0 {
		text = append(text, ' ')
	}
	w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
	w.Write(text)

	writeTimes(w, differences(t.slices, func(s slice) uint64 { return s.since }))
	writeTimes(w, each(t.slices, func(s slice) uint64 { return s.until - s.since }))
	writeNumbers(w, each(t.slices, func(s slice) uint32 { return s.class }))
	writeNumbers(w, each(t.slices, func(s slice) uint32 { return s.name }))
	writeNumbers(w, each(t.slices, func(s slice) uint32 { return s.detail }))

	writeTimes(w, differences(t.instants, func(i instant) uint64 { return i.at }))
	writeNumbers(w, each(t.instants, func(i instant) uint32 { return uint32(i.lane) }))
	writeNumbers(w, each(t.instants, func(i instant) uint32 { return i.class }))
	writeNumbers(w, each(t.instants, func(i instant) uint32 { return i.name }))
	writeNumbers(w, each(t.instants, func(i instant) uint32 { return i.detail }))

	writeTimes(w, differences(t.arrows, func(a arrow) uint64 { return a.from }))
	writeTimes(w, each(t.arrows, func(a arrow) uint64 { return a.to - a.from }))
	writeNumbers(w, each(t.arrows, func(a arrow) uint32 { return uint32(a.start) }))
	writeNumbers(w, each(t.arrows, func(a arrow) uint32 { return uint32(a.end) }))
}

func each[T, N any](list []T, of func(T) N) []N {
	column := make([]N, len(list))
	for i, v := range list {
		column[i] = of(v)
	}
	return column
}

// differences are those of each value to the one before, modulo 2^64: a lane begins before the one above it has ended.
func differences[T any](list []T, of func(T) uint64) []uint64 {
	column := each(list, of)
	for i := len(column) - 1; i > 0; i-- {
		column[i] -= column[i-1]
	}
	return column
}

func writeTimes(w io.Writer, column []uint64) {
	writeNumbers(w, each(column, func(v uint64) uint32 { return uint32(v) }))
	writeNumbers(w, each(column, func(v uint64) uint32 { return uint32(v >> 32) }))
}

func writeNumbers(w io.Writer, column []uint32) {
	bytes := make([]byte, 0, 4*len(column))
	for _, v := range column {
		bytes = binary.LittleEndian.AppendUint32(bytes, v)
	}
	w.Write(bytes)
}
