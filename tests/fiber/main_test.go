// Package fiber_test holds the tests of package fiber that see its public face only, and its benchmarks.
package fiber_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
