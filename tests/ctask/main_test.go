// Package ctask_test holds the tests of package ctask that see its public face only, its benchmarks, and tests of tasks
// of Go that call C: what the scheduler's own suite does not.
package ctask_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
