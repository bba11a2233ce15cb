//go:build amd64 || arm64

package spinlock

// Pause is one turn of a spin: it costs 10 to 100 cycles and little power.
func Pause()
