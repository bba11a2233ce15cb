package fiber

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"fiberlab/fiber/internal/identity"
)

// Backend is the mechanism that switches a fiber.
type Backend uint8

const (
	// Default is the backend named by the environment variable
	// FIBERLAB_BACKEND. If that is not set, it is Asm where there is assembly for the processor and the C library is
	// glibc. Elsewhere it is Ucontext if Supported returns nil, and Goroutine if not.
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

// Backends lists the backends that can be chosen on this processor. Default prefers the first one.
func Backends() []Backend {
	switch {
	case hasAsm:
		return []Backend{Asm, Ucontext, Goroutine}
	case identity.SlotReader() != 0:
		return []Backend{Ucontext, Goroutine}
	}
	return []Backend{Goroutine}
}

// String returns the name by which ParseBackend knows b.
func (b Backend) String() string {
	if int(b) < len(backendNames) {
		return backendNames[b]
	}
	return fmt.Sprintf("Backend(%d)", uint8(b))
}

// ParseBackend returns the backend of that name: asm, ucontext or goroutine; default or
// the empty string mean Default. For any other name the error wraps ErrBackend, and
// lists the backends of this processor.
func ParseBackend(name string) (Backend, error) {
	if name == "" {
		return Default, nil
	}
	for b, known := range backendNames {
		if name == known {
			return Backend(b), nil
		}
	}
	var names []string
	for _, b := range Backends() {
		names = append(names, b.String())
	}
	return Default, fmt.Errorf("%w %q: choose one of %s", ErrBackend, name, strings.Join(names, ", "))
}

// Resolve returns the backend that b stands for. Default stands for the backend that the environment names, or else for
// the one that the program falls back to. When it falls back, a line on standard error says so, once. The error wraps
// ErrBackend if the environment names no backend, or if this processor has not got it.
func (b Backend) Resolve() (Backend, error) {
	if b != Default {
		return b.available()
	}
	b, err := ParseBackend(os.Getenv(EnvBackend))
	if err == nil && b != Default {
		b, err = b.available()
	}
	if err != nil {
		return Default, fmt.Errorf("environment variable %s: %w", EnvBackend, err)
	}
	if b == Default {
		b = preferred()
	}
	return b, nil
}

// available returns b, or an error that wraps ErrBackend if there is no such backend on this processor.
func (b Backend) available() (Backend, error) {
	if slices.Contains(Backends(), b) {
		return b, nil
	}
	return Default, fmt.Errorf("%w %v on %s: choose one of %v", ErrBackend, b, runtime.GOARCH, Backends())
}

// preferred is what Default stands for if the environment names no backend. The first call says on standard error
// what it has fallen back to.
var preferred = sync.OnceValue(func() Backend {
	b, why := Fallback()
	if why != "" {
		fmt.Fprintf(os.Stderr, "fiberlab: the backend is %v: %s (%s=%[1]v silences this line)\n", b, why, EnvBackend)
	}
	return b
})

// Fallback returns the backend that Default stands for if the environment names none, and why it is not Asm. The
// reason is empty if it is Asm. It runs the probes of Supported where there is no assembly for the processor.
func Fallback() (b Backend, why string) {
	if !hasGlibc {
		return Goroutine, otherLibrary
	}
	if hasAsm {
		return Asm, ""
	}
	why = "no assembly for " + runtime.GOARCH
	if err := Supported(); err != nil {
		return Goroutine, fmt.Sprintf("%s, and %v", why, err)
	}
	return Ucontext, why
}

// otherLibrary is why the backend is Goroutine if hasGlibc is false.
const otherLibrary = "asm and ucontext need glibc, and this program is built with another C library"

// handSwitched reports whether the backend's fibers run on stacks of this project.
func (b Backend) handSwitched() bool { return b == Asm || b == Ucontext }
