package goroutine

import (
	"runtime"
	"strings"
)

// Name is the name of the calling goroutine in stack traces, such as "goroutine 7". No other one ever has it. It
// takes a microsecond, and does not block.
func Name() string { return nameIn(Head()) }

func nameIn(head string) string {
	name, _, _ := strings.Cut(head, " [")
	name, _, _ = strings.Cut(name, " gp=") // with GOTRACEBACK=system
	return name
}

// All returns the names of all goroutines of the program, or false if there are more than most. It stops the program
// until their stacks have been written, for some ten or hundred microseconds each.
func All(most int) (names map[string]bool, ok bool) {
	for size := 64 << 10; runtime.NumGoroutine() <= most; size *= 2 {
		dump := make([]byte, size)
		if n := runtime.Stack(dump, true); n < size {
			names = make(map[string]bool)
			for _, stack := range strings.Split(string(dump[:n]), "\n\n") {
				head, _, _ := strings.Cut(stack, "\n")
				names[nameIn(head)] = true
			}
			return names, true
		}
	}
	return nil, false
}
