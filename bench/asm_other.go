//go:build !amd64 && !arm64

package bench

// assembly returns none: this project has no assembly for the processor.
func assembly() []Mechanism { return nil }
