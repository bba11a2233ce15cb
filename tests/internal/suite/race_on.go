//go:build race

package suite

// RaceDetector tells whether the tests are built with it.
const RaceDetector = true
