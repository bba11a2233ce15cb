//go:build !amd64 && !arm64

package bench

// This project has no assembly for the processor: a workload without rivals is left out.
func assembly() []Mechanism { return nil }
func depth() Workload       { return Workload{} }
func registers() Workload   { return Workload{} }
