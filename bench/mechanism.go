// Package bench measures what one switch costs, mechanism by mechanism.
//
// In every mechanism two sides switch to each other and do nothing else: a round trip is two switches.
// The loops of the C mechanisms are in C, so that they contain no call from Go. Measure compares all
// mechanisms in one run; the benchmarks in tests use the same sessions one at a time.
package bench

import "time"

// Mechanism is one way to switch.
type Mechanism struct {
	Name string
	// Open makes the two sides, or says why there cannot be two. The caller must close the session.
	Open func() (Session, error)
}

// Session is an opened mechanism. Any goroutine may use it, one at a time.
type Session interface {
	// Switch makes n switches, rounded up to whole round trips, and blocks until they are done. If n is 0 or
	// less, it makes one round trip. It returns the system's error if a thread cannot be kept on its processor.
	Switch(n int) (Sample, error)
	// Close releases threads, stacks and goroutines. The session must not be used afterwards.
	Close() error
}

// Sample is a number of switches and how long they took together.
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
