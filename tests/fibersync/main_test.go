// Package fibersync_test holds the tests of package fibersync, and of sched/park below it, that see their public faces
// only, and their benchmarks.
package fibersync_test

import (
	"testing"

	"fiberlab/tests/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }
