//go:build !race

package uring

// wrote tells the race detector what the kernel has written.
func wrote([]byte) {}

// received is wrote for bytes from a connection.
func received([]byte) {}

// sending tells the race detector what the kernel is about to read and to give to others.
func sending([]byte) {}
