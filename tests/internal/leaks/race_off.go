//go:build !race

package leaks

const mappingsOfRaceDetector = 0
