package fiber

import (
	"fmt"

	"fiberlab/stack"
)

// MinGoStack is the smallest C stack, in bytes, for a Go body. The runtime's code
// runs on it when the body grows its Go stack, allocates or assists the collector,
// and relies on 32 KB. C functions that the body calls need the remainder.
const MinGoStack = 64 << 10

// Config describes a fiber. The zero value is a fiber without a name on the
// default backend with a stack of the default size.
type Config struct {
	Name    string  // for reports; its first 47 bytes appear in the overflow report
	Backend Backend // the mechanism that switches it

	// StackSize is the number of bytes of C stack, rounded up to whole pages; 0 means
	// stack.DefaultSize. It has no meaning on Goroutine.
	StackSize int
	// GuardPages is the number of pages below the C stack that cannot be touched; 0 means 1.
	// A C function with a larger frame may step over them. It has no meaning on
	// Goroutine.
	GuardPages int
	// ClearStack makes Close zero the C stack, so that C functions on the next fiber do not
	// see data of this one. After a Go body, the frames of this package and of the Go runtime
	// stay for the next body. It costs some 1 to 2 us. It has no meaning on Goroutine, whose
	// stacks Go clears itself.
	ClearStack bool
}

// Check returns the error that New would return for cfg however much memory there
// is, or nil.
func (cfg Config) Check() error {
	if _, err := cfg.kind(goBody); err != nil {
		return &Error{"check", cfg.Name, err}
	}
	return nil
}

// kind resolves and checks what cfg asks for.
func (cfg Config) kind(body bodyKind) (kind, error) {
	b, err := cfg.Backend.Resolve()
	if err != nil {
		return kind{}, err
	}
	if b == Goroutine {
		if body == cBody {
			return kind{}, fmt.Errorf(
				"%w for a C body: goroutine fibers run Go functions only: use asm or ucontext", ErrBackend,
			)
		}
		return kind{backend: b}, nil
	}
	if err := Supported(); err != nil {
		return kind{}, err
	}
	options := stack.Options{Size: cfg.StackSize, GuardPages: cfg.GuardPages, ClearOnPut: cfg.ClearStack}
	if err := options.Check(); err != nil {
		return kind{}, err
	}
	// Equal stacks come from one pool, so equal options must look equal.
	options.Size, _ = options.Usable()
	options.GuardPages = max(options.GuardPages, 1)
	if body == goBody && cfg.StackSize > 0 && cfg.StackSize < MinGoStack {
		return kind{}, fmt.Errorf(
			"%w: %d bytes for a Go body: it needs at least %d", ErrStackSize, cfg.StackSize, MinGoStack,
		)
	}
	return kind{backend: b, body: body, stack: options}, nil
}
