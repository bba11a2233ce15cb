// Package timeline shows a recorded run as a page for browsers: workers, fibers and tasks as lines of slices, with
// arrows from each notification to where the fiber went on.
//
//	read.go    a trace, as package fiberlab/sched/trace writes it, becomes lanes of slices
//	page.go    the page, with all data packed into it
//	page.html  its frame; page.css: its looks; page.js: it unpacks, draws, searches and sums up
package timeline

import _ "fiberlab/internal/platform"
