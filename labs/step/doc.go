// Package step shows a recording: for each instruction, what changed in the registers and on the stacks, with its
// source line.
//
// What to read, in this order:
//
//	player.go    the state of registers and memory before and after each step
//	meaning.go   what a value is: "rbx of A", "stack of B +0x40"
//	effects.go   what an instruction did, in words
//	listing.go   all steps as text, one below the other
//	screen.go    what a terminal can show
//	frame.go     one step as it fills a screen
//	terminal.go  forward and back by keys
//	html.go      all steps as one page for browsers (page.html, page.css, page.js)
package step
