package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	benchreport "fiberlab/bench/report"
	"fiberlab/cmd/fiberlab/wordcount/wordcounttest"
)

func TestPredict(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{
		"ada.txt": "asm 1 s\nthreads 0.001\n", "class/bob": "asm 1 s\n", "class/cyd": "asm 0.001\nchannel 1 s\n",
	})
	got := newLab(nil, nil).test(t, "predict", "--rounds", "2", "--guesses", filepath.Join(dir, "ada.txt"))
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `(?m)^asm +1,000,000,000 .* times too much$`, got.stdout)
	require.Regexp(t, `(?m)^threads +0\.001 .* too little by a factor of [\d,]+$`, got.stdout)
	require.NotContains(t, got.stdout, "ucontext ")

	page := filepath.Join(dir, "page")
	got = newLab(nil, nil).test(t, "predict", "--rounds", "2", "--guesses", filepath.Join(dir, "class"), "--report", page)
	require.Zero(t, got.code, got.stderr)
	require.Regexp(t, `(?m)^asm +0\.001 .* too little by a factor of `, got.stdout, "the lower one in the middle")
	text, err := os.ReadFile(filepath.Join(page, benchreport.PageFile))
	require.NoError(t, err)
	require.Contains(t, string(text), "<td>2</td><td>0.001 ns</td><td>0.001 ns</td><td>1 s</td>")
	require.Contains(t, string(text), "a guess")
}

// At a terminal the questions are asked; Ctrl-D ends them.
func TestPredictAsks(t *testing.T) {
	shown := typed(t, "quick\n1 s\n\n2 s\n\x04", 100, nil, "predict", "--rounds", "2")
	require.Contains(t, shown, "1 of ")
	require.Contains(t, shown, `"quick" is no time`)
	require.NotContains(t, shown, "5 of ")
	require.Regexp(t, `│ asm +│ 1,000,000,000 .* times too much`, shown)
	require.NotRegexp(t, `│ asm-inline +│`, shown)
	require.Regexp(t, `│ asm-nofp +│ 2,000,000,000 .* times too much`, shown)
}

// A signal ends the questions, though none is answered.
func TestPredictIsInterrupted(t *testing.T) {
	c, screen := startOnTerminal(t, "", 100, nil, "predict")
	defer time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() }).Stop()
	for shown, buffer := "", make([]byte, 4096); !strings.Contains(shown, "1 of "); {
		n, err := screen.Read(buffer)
		require.NoError(t, err, shown)
		shown += string(buffer[:n])
	}
	require.NoError(t, c.Process.Signal(os.Interrupt))
	rest, _ := io.ReadAll(screen)
	require.Error(t, c.Wait())
	require.Equal(t, exitInterrupted, c.ProcessState.ExitCode(), string(rest))
	require.Contains(t, string(rest), "\nfiberlab: interrupted\r\n")
}

func TestPredictRefuses(t *testing.T) {
	dir := t.TempDir()
	wordcounttest.WriteFiles(t, dir, map[string]string{"bad": "asm 1\nasn 2\n", "empty/": ""})
	for _, c := range []struct {
		says string
		args []string
	}{
		{"standard input is no terminal to ask at: --guesses FILE", nil},
		{`line 2: "asn" is not asked for: choose one of asm, `, []string{"--guesses", filepath.Join(dir, "bad")}},
		{"no such file", []string{"--guesses", filepath.Join(dir, "none")}},
		{"has no files", []string{"--guesses", filepath.Join(dir, "empty")}},
		{`--guesses "": name a file or a folder`, []string{"--guesses", ""}},
		{`--report "": name a folder`, []string{"--report", ""}},
	} {
		got := run(t, append([]string{"predict", "--quick"}, c.args...)...)
		require.Equal(t, exitUsage, got.code, got.stderr)
		requireOneLine(t, got.stderr)
		require.Contains(t, got.stderr, c.says)
	}
}

func TestBenchReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "page")
	got := newLab(nil, nil).test(t, "bench", "--rounds", "2", "--report", dir)
	require.Zero(t, got.code, got.stderr)
	for _, name := range []string{benchreport.PageFile, benchreport.DrawingFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(text), "go-on-ucontext")
	}
}
