//go:build !iofaults

package uring

// withFaults returns p. With the build tag iofaults it returns a proxy that makes mistakes.
func withFaults(p proxy) proxy { return p }
