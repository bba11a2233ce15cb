// Package cxx_test holds the tests of fibers whose bodies are C++.
package cxx_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
