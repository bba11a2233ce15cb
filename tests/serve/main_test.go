// Package serve_test drives the servers of package serve by the clients of this package,
// and by programs that people have.
package serve_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
