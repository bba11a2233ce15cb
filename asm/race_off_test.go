//go:build !race

package asm

// raceDetector reports whether the tests are built with it.
const raceDetector = false
