// Package stacktest tells tests how many stacks this machine can hold.
package stacktest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"fiberlab/stack"
)

// spare is how many of the kernel's mappings stay free for what else the process needs while a test holds stacks.
const spare = 4096

// Guard is the kind of guard that stacks have on this machine unless the environment asks for another one.
func Guard() (stack.Guard, error) {
	pool, err := stack.NewPool(stack.Options{})
	if err != nil {
		return 0, err
	}
	return pool.Stats().Guard, pool.Close()
}

// Held returns how many stacks a test may hold at once: want, or fewer where guards take separate mappings and the
// kernel bounds these. Then the test's log says so.
func Held(tb testing.TB, want int) int {
	tb.Helper()
	kind, err := Guard()
	if err != nil {
		tb.Fatal(err)
	}
	if kind != stack.GuardMprotect {
		return want
	}
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		return want
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		tb.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		tb.Fatal(err)
	}
	used := bytes.Count(maps, []byte("\n"))
	room := max(1, (most-used-min(spare, most/8))/2)
	if want <= room {
		return want
	}
	tb.Logf("holds %d stacks, not %d: each takes two mappings, and of %d (vm.max_map_count) %d are in use",
		room, want, most, used)
	return room
}
