// Package goroutine reads stack traces of the runtime: the head of the caller's, and whole traces of all goroutines.
package goroutine

import (
	"runtime"
	"strings"

	_ "fiberlab/internal/platform"
)

// Head is the first line of the caller's stack trace, such as "goroutine 7 [running, locked to thread]:". It takes a
// microsecond, and does not block.
func Head() string {
	var buf [128]byte
	head, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), "\n")
	return head
}
