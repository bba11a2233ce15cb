package fiber

import (
	"fmt"
	"os"
	"strings"
)

// Backend is the mechanism that switches a fiber.
type Backend uint8

const (
	// Default is the backend named by the environment variable
	// FIBERLAB_BACKEND, or Asm if that is not set.
	Default Backend = iota
	// Asm switches by marl_fiber_swap_fp, in hand-written assembly.
	Asm
	// Ucontext switches by swapcontext(3).
	Ucontext
	// Goroutine switches by Go's own coroutines (iter.Pull). It runs Go bodies
	// only, and only from roots that were attached with it.
	Goroutine
)

// EnvBackend names the environment variable that chooses the Default backend.
const EnvBackend = "FIBERLAB_BACKEND"

var backendNames = [...]string{"default", "asm", "ucontext", "goroutine"}

// Backends lists the backends that can be chosen, the default one first.
func Backends() []Backend { return []Backend{Asm, Ucontext, Goroutine} }

// String returns the name by which ParseBackend knows b.
func (b Backend) String() string {
	if int(b) < len(backendNames) {
		return backendNames[b]
	}
	return fmt.Sprintf("Backend(%d)", uint8(b))
}

// ParseBackend returns the backend of that name: asm, ucontext or goroutine;
// default or the empty string mean Default. For others the error wraps ErrBackend, and
// names them all.
func ParseBackend(name string) (Backend, error) {
	if name == "" {
		return Default, nil
	}
	for b, known := range backendNames {
		if name == known {
			return Backend(b), nil
		}
	}
	return Default, fmt.Errorf("%w %q: choose one of %s", ErrBackend, name, strings.Join(backendNames[1:], ", "))
}

// Resolve returns the backend that b stands for: b itself, or for Default the
// backend that the environment names. It fails with an error that wraps ErrBackend if that
// names none.
func (b Backend) Resolve() (Backend, error) {
	switch b {
	case Asm, Ucontext, Goroutine:
		return b, nil
	case Default:
	default:
		return Default, fmt.Errorf("%w %v: choose one of %v", ErrBackend, b, Backends())
	}
	b, err := ParseBackend(os.Getenv(EnvBackend))
	if err != nil {
		return Default, fmt.Errorf("environment variable %s: %w", EnvBackend, err)
	}
	if b == Default {
		b = Asm
	}
	return b, nil
}

// handSwitched reports whether the backend's fibers run on stacks of this project.
func (b Backend) handSwitched() bool { return b == Asm || b == Ucontext }
