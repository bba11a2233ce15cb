// Package demo_test holds the tests of package demo, which see its public face only.
package demo_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
