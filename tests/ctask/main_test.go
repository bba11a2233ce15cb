// Package ctask_test holds the tests of package ctask that see its public face only, and its benchmarks.
package ctask_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
