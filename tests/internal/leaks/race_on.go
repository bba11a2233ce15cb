//go:build race

package leaks

// mappingsOfRaceDetector is for what the race detector remembers of goroutines that have ended:
// that grows with the run.
const mappingsOfRaceDetector = 1000
