// Package sched_test holds the tests of package sched that see its public face only, and its benchmarks.
package sched_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
