// Package suite runs the tests of each package: over backends and numbers of workers, in sizes that fit the
// program's speed, with random numbers that can be repeated.
package suite

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"

	"fiberlab/fiber"
	"fiberlab/stack/stacktest"
)

// Main is for the TestMain of each package of tests. It reads the seed, becomes the child if this process was started
// as one (package child), says what is tested, runs the tests and exits.
func Main(m *testing.M) {
	flag.Parse()
	if err := readSeed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	backend, err := fiber.Default.Resolve()
	guard, guardErr := stacktest.Guard()
	sizes := "full sizes"
	if Scaled(1, 0) == 0 {
		sizes = "short sizes"
	}
	fmt.Printf("%s %s, default backend %v %v, guards by %v %v, %s, %s=%d\n",
		runtime.GOARCH, runtime.Version(), backend, err, guard, guardErr, sizes, envSeed, seed)
	os.Exit(m.Run())
}
