//go:build !race

package suite

// RaceDetector reports whether the tests are built with it.
const RaceDetector = false
