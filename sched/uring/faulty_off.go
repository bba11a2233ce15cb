//go:build !iofaults

package uring

// withFaults returns p. With the build tag iofaults it returns a proxy that makes faults.
func withFaults(p proxy) proxy { return p }
