//go:build !amd64 && !arm64

package fiber

// hasAsm reports whether the project has a switch in assembly for this processor.
const hasAsm = false
