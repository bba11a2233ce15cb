package goroutine

import (
	"runtime"
	"strconv"
	"strings"
)

// Number is the number of the calling goroutine, as stack traces print it. No other one ever has it. It takes a
// microsecond, and does not block.
func Number() uint64 { return numberIn(Head()) }

// numberIn reads the number in the first line of a trace, or returns 0.
func numberIn(head string) uint64 {
	fields := strings.Fields(head)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[1], 10, 64)
	return n
}

// Trace is the stack trace of a goroutine.
type Trace struct {
	State string // what it does or waits for: "running", "syscall", "chan receive", "sleep" and so on
	text  string // the lines after the first one
}

// traceSize is more than the bytes of most traces. Each attempt to write all of them stops the program.
const traceSize = 4 << 10

// All returns the traces of all goroutines of the program by their numbers, or false if there are more than most. It
// stops the program until the runtime has written them, for some 50 us each.
func All(most int) (traces map[uint64]Trace, ok bool) {
	for size := traceSize * (16 + runtime.NumGoroutine()); runtime.NumGoroutine() <= most; size *= 2 {
		dump := make([]byte, size)
		n := runtime.Stack(dump, true)
		if n == size {
			continue
		}
		traces = make(map[uint64]Trace)
		for _, trace := range strings.Split(string(dump[:n]), "\n\n") {
			head, text, _ := strings.Cut(trace, "\n")
			_, state, _ := strings.Cut(head, "[")
			end := max(strings.IndexAny(state, ",]"), 0)
			traces[numberIn(head)] = Trace{state[:end], text}
		}
		return traces, true
	}
	return nil, false
}

// Frames returns the functions of the trace with their places, the innermost first. The runtime leaves out its own
// functions, and those in the middle of more than 100.
func (t Trace) Frames() (list []runtime.Frame) {
	for line := range strings.SplitSeq(t.text, "\n") {
		place, isPlace := strings.CutPrefix(line, "\t")
		end := strings.LastIndexByte(line, '(')
		switch {
		case strings.HasPrefix(line, "created by "):
			return list
		case isPlace && len(list) > 0:
			place, _, _ = strings.Cut(place, " +")
			colon := strings.LastIndexByte(place, ':')
			f := &list[len(list)-1]
			f.File = place[:max(colon, 0)]
			f.Line, _ = strconv.Atoi(place[colon+1:])
		case end > 0:
			list = append(list, runtime.Frame{Function: line[:end]})
		}
	}
	return list
}

// In reports whether the goroutine is in a call of a function whose name begins so, "fiberlab/sched.Run(" for example.
func (t Trace) In(function string) bool {
	return t.At(function) || strings.Contains(t.text, "\n"+function)
}

// At reports whether the name of the innermost function begins so.
func (t Trace) At(function string) bool { return strings.HasPrefix(t.text, function) }
