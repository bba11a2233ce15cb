package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"fiberlab/bench"
)

const mostBytes = 400 << 10

func pageOf(t *testing.T, r *bench.Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Page(&b, r))
	return b.String()
}

// plain is the text of a page for people.
func plain(page string) string {
	page, _, _ = strings.Cut(page, "<script type")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
}

func TestPageSaysWhatTheFiguresAre(t *testing.T) {
	text := plain(pageOf(t, sample()))
	for _, want := range []string{
		"Measured on Planted, virtual (amd64, 2 processors), Linux 6.1, go1.26, on 2 January 2026, 03:04.",
		"times mean nothing", "From asm-inline, 0.79 ns, to threads, 1.99 µs, it is a factor of 2,520.",
		"the same loop without the operation takes 0.31 ns. That is 39.2 % of what asm-inline takes.",
		"asm-inline 0.79 ns 0.774 ns to 0.806 ns – 51 – 2 A switch by asm-inline is like this.",
		"ucontext 189 ns 185 ns to 193 ns 28 (27.4 to 28.6) 51",
		"3.43 ns, 95 % interval 3.36 ns to 3.5 ns; 3 instructions",
		"No ratios are given: the median of asm is known to 12 % only.",
		"Skipped: boost: no Boost.Context: apt-get install libboost-context-dev",
		"With 2 fibers, asm takes 4.02 ns; with 354,294 it takes 25.2 ns, 6.27 times as much.",
		"governor not visible", "MIT License", "uPlot (v1.6.32)",
	} {
		require.Contains(t, text, want)
	}
	for _, peer := range published.Rows {
		require.Contains(t, text, peer[2])
		require.NotContains(t, pageOf(t, sample())[strings.Index(pageOf(t, sample()), `id="plots"`):], peer[0])
	}
}

// A page of all workloads, with many rows and samples, is small.
func TestPageIsSmall(t *testing.T) {
	r := sample()
	for i := range r.Groups[0].Rows {
		for range 10 {
			r.Groups[0].Rows[i].Samples = append(r.Groups[0].Rows[i].Samples, r.Groups[0].Rows[i].Samples...)
			if len(r.Groups[0].Rows[i].Samples) > 3000 {
				break
			}
		}
	}
	for range 8 {
		more := r.Groups[0]
		more.Rows = append(more.Rows, more.Rows...)
		r.Groups = append(r.Groups, more)
	}
	require.Less(t, len(pageOf(t, r)), mostBytes)
}

func TestPageNeedsRows(t *testing.T) {
	require.ErrorContains(t, Page(io.Discard, &bench.Report{}), "nothing was measured")
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second time it replaces the files
		require.NoError(t, Write(dir, sample()))
	}
	page, err := os.ReadFile(filepath.Join(dir, PageFile))
	require.NoError(t, err)
	require.Less(t, len(page), mostBytes)
	require.Contains(t, plain(string(page)), "ucontext 189 ns")
	drawing, err := os.ReadFile(filepath.Join(dir, DrawingFile))
	require.NoError(t, err)
	require.Less(t, len(drawing), 60<<10)
	var texts []string
	for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if text, is := token.(xml.CharData); is {
			texts = append(texts, string(text))
		}
	}
	for _, want := range []string{
		"A switch, in ns a switch, of an emulator: times mean nothing", "threads", "1.99 µs", "0.79 ns", "go-on-ucontext",
	} {
		require.Contains(t, texts, want)
	}
	require.ErrorContains(t, Write(filepath.Join(dir, PageFile), sample()), PageFile, "a file is in the way")
}

func TestNumbers(t *testing.T) {
	for ns, want := range map[float64]string{
		0.7912: "0.791 ns", 6.76: "6.76 ns", 999.4: "999 ns", 999.6: "1 µs", 1992: "1.99 µs", 2.5e6: "2.5 ms", 3e9: "3 s",
	} {
		require.Equal(t, want, duration(ns))
	}
	for v, want := range map[float64]string{0.1234: "0.123", 12345: "12,300", 1: "1", 999.9: "1,000"} {
		require.Equal(t, want, bench.Figure(v))
	}
	require.Equal(t, "1,048,576", bench.Whole(1<<20))
	require.Equal(t, []float64{1, 3, 5}, evenly([]float64{1, 2, 3, 4, 5}, 3))
}
