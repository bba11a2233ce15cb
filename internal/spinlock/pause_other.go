//go:build !amd64 && !arm64

package spinlock

// Pause does nothing: the hint that a thread spins is known for amd64 and arm64.
func Pause() {}
