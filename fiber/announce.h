/* Tells AddressSanitizer of switches, in programs that are built with it.
 *
 * It keeps a shadow of all memory. The space between the variables of a stack frame is marked
 * there until the function returns. It also knows the bounds of each thread's stack. So it must
 * learn when a thread continues on another stack, and when a fiber has ended whose functions never
 * return. */
#ifndef FIBERLAB_ANNOUNCE_H
#define FIBERLAB_ANNOUNCE_H

#include "core.h"

#if defined(__SANITIZE_ADDRESS__)
#define FIBERLAB_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERLAB_ASAN 1
#endif
#endif

#ifdef FIBERLAB_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

/* Called by from, right before it leaves. */
static inline void announce_leave(fiberlab_fiber *from, const fiberlab_fiber *to) {
    __sanitizer_start_switch_fiber(from->gone ? NULL : &from->fake_stack,
                                   (const void *)to->stack_lo, to->stack_hi - to->stack_lo);
}

/* Called by self, right after it has come, on the stack that it knows itself to be on.
 * departed has left; a root is asked for the bounds of its stack only then. */
static inline void announce_arrive(fiberlab_fiber *self, fiberlab_fiber *departed) {
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
    if (departed->root) {
        departed->stack_lo = (uintptr_t)bottom;
        departed->stack_hi = (uintptr_t)bottom + size;
    }
    if (departed->gone)
        __asan_unpoison_memory_region((void *)departed->stack_lo,
                                      departed->stack_hi - departed->stack_lo);
}

/* Called with a stack that nothing runs on, for whatever its memory was used for before. */
static inline void announce_fresh(uintptr_t lo, uintptr_t hi) {
    __asan_unpoison_memory_region((void *)lo, hi - lo);
}

/* Called by self when its stack, below the caller's frame, comes to its next user. Panics may have
 * thrown away functions of the last one. */
static inline __attribute__((always_inline)) void announce_begin(fiberlab_fiber *self) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    __asan_unpoison_memory_region((void *)self->stack_lo, here - self->stack_lo);
}
#else
static inline void announce_fresh(uintptr_t lo, uintptr_t hi) {
    (void)lo;
    (void)hi;
}
static inline void announce_begin(fiberlab_fiber *self) {
    (void)self;
}
static inline void announce_leave(fiberlab_fiber *from, const fiberlab_fiber *to) {
    (void)from;
    (void)to;
}
static inline void announce_arrive(fiberlab_fiber *self, fiberlab_fiber *departed) {
    (void)self;
    (void)departed;
}
#endif

#endif
