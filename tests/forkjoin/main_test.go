// Package forkjoin_test holds the tests of package forkjoin that see its public face only.
package forkjoin_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
