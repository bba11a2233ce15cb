//go:build !race

package fiberio

// received tells the race detector of bytes from a connection.
func received([]byte) {}

// sending tells the race detector what the kernel is about to read and to give to others.
func sending([]byte) {}
