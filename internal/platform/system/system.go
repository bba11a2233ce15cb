// Package system is the part of package platform that asks for no cgo: a build for another system ends with one line.
// The packages of the labs import it, since they are built by the Go command alone.
package system
