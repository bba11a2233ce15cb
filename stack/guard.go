package stack

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Guard is a way to make the pages below a stack untouchable.
type Guard uint8

const (
	// GuardAuto takes GuardMadvise where it works, else GuardMprotect.
	GuardAuto Guard = iota
	// GuardMadvise marks the pages in the page table (MADV_GUARD_INSTALL, Linux
	// 6.13). The mapping stays whole: any number of stacks is one mapping.
	GuardMadvise
	// GuardMprotect takes the access rights off the pages. That cuts the mapping
	// in two at each guard, and the kernel bounds the number of mappings of a
	// process (vm.max_map_count): there is room for about 32,000 stacks.
	GuardMprotect
)

// String returns "auto", "madvise" or "mprotect".
func (g Guard) String() string {
	switch g {
	case GuardAuto:
		return "auto"
	case GuardMadvise:
		return "madvise"
	case GuardMprotect:
		return "mprotect"
	}
	return fmt.Sprintf("Guard(%d)", uint8(g))
}

// madvGuardInstall is MADV_GUARD_INSTALL of <linux/mman.h>.
const madvGuardInstall = 102

// resolve returns the kind to use for a request, never GuardAuto.
func (g Guard) resolve() (Guard, error) {
	switch g {
	case GuardAuto, GuardMadvise:
		works, err := madviseGuards()
		switch {
		case err != nil:
			return g, err
		case works:
			return GuardMadvise, nil
		case g == GuardAuto:
			return GuardMprotect, nil
		}
		return g, fmt.Errorf(
			"%w: MADV_GUARD_INSTALL needs Linux 6.13 and memory that is not locked: use GuardAuto or GuardMprotect",
			ErrGuard,
		)
	case GuardMprotect:
		return g, nil
	}
	return g, fmt.Errorf("%w: %v is no kind of guard: use GuardAuto, GuardMadvise or GuardMprotect", ErrGuard, g)
}

// protect makes the guard of st, which only the caller holds. If it
// fails there is no guard, and st must not be handed out.
func (p *Pool) protect(st *Stack) error {
	at, end := st.Guard()
	if p.guard == GuardMadvise {
		err := madvise(at, end-at, madvGuardInstall)
		switch {
		case err == nil:
			st.guarded = true
			return nil
		case !errors.Is(err, unix.EINVAL):
			return fmt.Errorf(
				"%w: MADV_GUARD_INSTALL: %w: the kernel lacks memory for page tables: hold fewer stacks",
				ErrExhausted, err,
			)
		case p.request == GuardMadvise:
			return fmt.Errorf(
				"%w: MADV_GUARD_INSTALL refuses locked memory: do not lock future mappings (mlockall), "+
					"or use GuardAuto: %w",
				ErrGuard, err,
			)
		}
	}
	if err := cutMapping(); err != nil {
		return err
	}
	if err := mprotect(at, end-at, unix.PROT_NONE); err != nil {
		joinMappings(1)
		return errMappings(err)
	}
	st.slab.cuts.Add(1)
	st.guarded = true
	return nil
}

// madvise is madvise(2).
func madvise(addr, length uintptr, advice int) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, addr, length, uintptr(advice)); errno != 0 {
		return errno
	}
	return nil
}

// mprotect is mprotect(2).
func mprotect(addr, length uintptr, prot int) error {
	if _, _, errno := unix.Syscall(unix.SYS_MPROTECT, addr, length, uintptr(prot)); errno != 0 {
		return errno
	}
	return nil
}
