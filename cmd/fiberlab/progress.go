package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far the work is: by a bar on a terminal, by a line after each phase elsewhere.
type progress struct {
	w      io.Writer
	screen screen
	quiet  bool // no lines
	names  int  // the width of the longest name of a phase
}

func newProgress(w io.Writer, quiet bool) *progress {
	return &progress{w: w, screen: screenOf(w), quiet: quiet, names: len("at most 2m59s left")}
}

// expect makes room for the name of a phase to come.
func (p *progress) expect(name string) { p.names = max(p.names, len(name)) }

// say writes a line, unless a bar has shown the same.
func (p *progress) say(format string, args ...any) {
	if !p.screen.terminal && !p.quiet {
		fmt.Fprintf(p.w, format+"\n", args...)
	}
}

const (
	switchCost = "switch cost" // the name of a phase
	mostBar    = 40
	// barFrame is the width of a line without the name and the bar: percentage, ends of the bar, spaces, and
	// the last column, which stays empty for the cursor.
	barFrame = 11
)

// barWidth is the length of the bar with which the line fits the screen.
func (p *progress) barWidth() int {
	if p.screen.columns == 0 {
		return mostBar
	}
	return min(max(p.screen.columns-p.names-barFrame, 1), mostBar)
}

// phase is one part of the work. The work counts up done and does nothing else for the display: drawing
// happens on another thread, so that it does not disturb what is measured.
type phase struct {
	done atomic.Int64
	left atomic.Int64 // nanoseconds that the rest takes at most; 0: not known
	stop func()
}

// phase begins a part of that size. It must be ended before the next one begins.
func (p *progress) phase(name string, size int64) *phase {
	ph := &phase{stop: func() {}}
	if !p.screen.terminal {
		return ph
	}
	size = max(size, 1)
	theme := progressbar.ThemeDefault
	if p.screen.ascii {
		theme = progressbar.ThemeASCII
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(fmt.Sprintf("%-*s", p.names, name)),
		progressbar.OptionSetWidth(p.barWidth()),
		progressbar.OptionSetTheme(theme),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
	ended, drawn := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drawn)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if left := time.Duration(ph.left.Load()); left > 0 {
					bar.Describe(fmt.Sprintf("%-*s", p.names, fmt.Sprintf("at most %v left", left.Round(time.Second))))
				}
				_ = bar.Set64(min(ph.done.Load(), size-1)) // at size the bar counts itself as finished
			case <-ended:
				_ = bar.Finish()
				return
			}
		}
	}()
	ph.stop = func() {
		close(ended)
		<-drawn
	}
	return ph
}

// end removes the bar.
func (ph *phase) end() { ph.stop() }
