// Package serve_test drives the servers of package serve by clients of its own, and by those that people have.
package serve_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
