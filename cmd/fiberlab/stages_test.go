package main

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// hesitant is a file of which every second read returns nothing and no error, as a reader may.
type hesitant struct {
	io.ReadCloser
	reads int
}

func (h *hesitant) Read(p []byte) (int, error) {
	h.reads++
	if h.reads%2 == 0 {
		return 0, nil
	}
	return h.ReadCloser.Read(p)
}

// A read task fills no buffer whose words are still to be split, however many reads have brought nothing.
func TestReadsThatReturnNothing(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for chunk := range 2 * (chunksAhead + 2) {
		word := string(rune('a'+chunk)) + " "
		text.WriteString(strings.Repeat(word, chunkSize/len(word)))
	}
	writeFiles(t, dir, map[string]string{"a": text.String()})
	tr, err := walk(t.Context(), dir, openFile)
	require.NoError(t, err)
	want := expected(t, tr.text)
	open := func(path string) (io.ReadCloser, error) {
		f, err := openFile(path)
		return &hesitant{ReadCloser: f}, err
	}
	for _, b := range fiber.Backends() {
		var done atomic.Int64
		got, _, err := countOnFibers(t.Context(), sched.Config{Workers: 1, Backend: b}, tr.text, open, &done)
		require.NoError(t, err)
		require.Empty(t, got.difference(want, tr.text))
	}
	requireReleased(t)
}
