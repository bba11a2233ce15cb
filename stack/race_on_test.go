//go:build race

package stack_test

func init() { raceDetector = true }
