// Package bench measures what one switch costs, mechanism by mechanism.
//
// Every mechanism plays the same game: two sides hand control back and forth and do nothing else, so
// that a round trip is two switches. The loops of the C mechanisms are C, so that no call from Go lies
// inside them. Measure lays the mechanisms side by side in one run; the benchmarks in tests use the
// same sessions one at a time.
package bench

import "time"

// Mechanism is one way to switch.
type Mechanism struct {
	Name string
	// Open makes the two sides ready. The session must be closed.
	Open func() (Session, error)
}

// Session is an opened mechanism. Any goroutine may use it, one at a time.
type Session interface {
	// Switch makes n switches, rounded up to whole trips, and blocks until they are done.
	Switch(n int) (Sample, error)
	// Close releases threads, stacks and goroutines. The session must not be used afterwards.
	Close() error
}

// Sample is a number of switches and the time they took together.
type Sample struct {
	Switches int
	Elapsed  time.Duration
}

// PerSwitch is the mean time of a switch in nanoseconds.
func (s Sample) PerSwitch() float64 {
	return float64(s.Elapsed.Nanoseconds()) / float64(s.Switches)
}

// Mechanisms returns all mechanisms in the order of the cost table.
func Mechanisms() []Mechanism {
	return []Mechanism{
		{"asm", openAsm},
		{"asm-inline", openAsmInline},
		{"asm-nofp", openAsmNofp},
		{"ucontext", openUcontext},
		{"goroutine", openGoroutine},
		{"channel", openChannel},
		{"threads", openThreads},
		{"go-on-asm", openGoOnAsm},
		{"go-on-ucontext", openGoOnUcontext},
	}
}

// trips is how many round trips make at least n switches, at least one.
func trips(n int) int {
	return max(1, n/2+n%2)
}
