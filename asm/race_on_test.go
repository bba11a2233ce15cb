//go:build race

package asm

// raceDetector tells whether the tests are built with it.
const raceDetector = true
