// Package ctask_test holds the tests of package ctask that see its public face only, and its benchmarks. It also tests
// tasks of Go that call C, which the scheduler's own suite does not.
package ctask_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
