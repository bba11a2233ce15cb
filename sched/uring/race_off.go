//go:build !race

package uring

// wrote tells the race detector what the kernel has written.
func wrote([]byte) {}

// received is wrote for bytes that somebody has sent.
func received([]byte) {}

// sending tells the race detector what the kernel is about to read and to give to others.
func sending([]byte) {}
