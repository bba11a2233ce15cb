package stack

import (
	"fmt"
	"os"
)

const (
	// DefaultSize is the size of a stack when Options.Size is 0, in bytes.
	DefaultSize = 64 << 10
	// MaxSize is the largest Options.Size, in bytes: 1 GiB, 128 times the
	// default stack of a Linux thread. A larger size is taken for a mistake.
	MaxSize = 1 << 30
	// DefaultMaxIdle is the number of idle stacks kept when Options.MaxIdle is 0.
	DefaultMaxIdle = 1024
	// MaxGuardPages is the largest Options.GuardPages.
	MaxGuardPages = 1 << 16
)

// Options describes the stacks of one pool. The zero value is valid.
type Options struct {
	// Size is the number of bytes from Lo to Hi of each stack. 0 means
	// DefaultSize; anything else is rounded up to whole pages. The guard comes
	// on top. Up to 1984 of these bytes, above Top, stay unused.
	Size int
	// Guard is the way the pages below each stack are protected.
	Guard Guard
	// GuardPages is the number of pages below each stack that cannot be touched; 0 means 1.
	// A C function steps over the guard if its frame is larger and its first access is
	// beyond: more pages catch larger frames. They take addresses, but no memory.
	GuardPages int
	// ClearOnPut has Put make the bytes of each stack zero, so that its next user does not
	// see what the last one left. See Zero for what that costs.
	ClearOnPut bool
	// MaxIdle is the number of idle stacks whose pages Put keeps for reuse;
	// 0 means DefaultMaxIdle, and a negative number keeps none. The pages of stacks beyond
	// it go back to the kernel at once.
	MaxIdle int
}

// pageSize is the size of a page of this process, in bytes.
var pageSize = uintptr(os.Getpagesize())

// Usable returns the size that stacks with these options have, in bytes and
// rounded up to whole pages, or an error that wraps ErrSize.
func (o Options) Usable() (int, error) {
	switch {
	case o.Size < 0:
		return 0, fmt.Errorf(
			"%w: %d bytes is negative: ask for 0 (the default, %d) up to %d", ErrSize, o.Size, DefaultSize, MaxSize,
		)
	case o.Size > MaxSize:
		return 0, fmt.Errorf("%w: %d bytes is above the largest, %d: ask for less", ErrSize, o.Size, MaxSize)
	}
	size := o.Size
	if size == 0 {
		size = DefaultSize
	}
	page := int(pageSize)
	return (size + page - 1) &^ (page - 1), nil
}

// guardSize returns the length of each guard in bytes, or an error that wraps ErrGuard.
func (o Options) guardSize() (uintptr, error) {
	if o.GuardPages < 0 || o.GuardPages > MaxGuardPages {
		return 0, fmt.Errorf("%w: %d pages: ask for 0 (the default, 1) up to %d", ErrGuard, o.GuardPages, MaxGuardPages)
	}
	return uintptr(max(o.GuardPages, 1)) * pageSize, nil
}

// Check returns the error that NewPool would return for o, or nil.
func (o Options) Check() error {
	if _, err := o.Usable(); err != nil {
		return err
	}
	if _, err := o.guardSize(); err != nil {
		return err
	}
	_, err := o.Guard.resolve()
	return err
}

// maxIdle returns the number of idle stacks to keep.
func (o Options) maxIdle() int {
	switch {
	case o.MaxIdle == 0:
		return DefaultMaxIdle
	case o.MaxIdle < 0:
		return 0
	}
	return o.MaxIdle
}
