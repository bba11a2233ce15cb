//go:build debug

package fibersync

import (
	"fmt"
	"sync/atomic"

	"fiberlab/fiber"
)

// holder identifies the fiber or goroutine that holds a lock, by fiber.Self; 0: none. Only
// debug builds have it; in others it is empty and its methods do nothing.
type holder struct{ self atomic.Uintptr }

func (h *holder) who() uintptr { return h.self.Load() }

func (h *holder) here() bool { return h.self.Load() == fiber.Self() }

// mayBeHere reports whether the caller is the holder. It is true in other builds, which do not know.
func (h *holder) mayBeHere() bool { return h.here() }

// enter makes the caller the holder.
func (h *holder) enter() { h.self.Store(fiber.Self()) }

// leave makes the lock unheld. It panics unless the caller is the holder.
func (h *holder) leave() {
	h.must("unlock")
	h.self.Store(0)
}

// must panics unless the caller is the holder.
func (h *holder) must(what string) {
	switch {
	case h.here():
	case h.self.Load() == 0:
		panic(fmt.Errorf("fibersync: %s: %w", what, ErrUnlocked))
	default:
		panic(fmt.Errorf("fibersync: %s: %w", what, ErrNotHolder))
	}
}

// mustNot panics if the caller is the holder.
func (h *holder) mustNot(what string) {
	if h.here() {
		panic(fmt.Errorf("fibersync: %s: %w", what, ErrHolder))
	}
}
