/* Bodies that look at the frames below them. */
#include <execinfo.h>

#include "cbody.h"

__attribute__((noinline)) static void trace(struct cbody_order *o, int depth) {
    if (depth > 0)
        trace(o, depth - 1);
    else
        o->frame_count = backtrace(o->frames, CBODY_FRAMES);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

void cbody_backtrace(void *order) {
    trace(order, CBODY_UNWIND_DEPTH);
    __asm__ volatile("" ::: "memory");
}

/* The walk ends where a frame names no caller, or is broken off where it names a caller that is not
 * within depth bytes above. A frame begins with the caller's frame pointer and the return address,
 * on both architectures. */
struct frame {
    const struct frame *caller;
    void *return_address;
};

__attribute__((noinline)) static void walk(struct cbody_order *o, int depth) {
    const struct frame *f = __builtin_frame_address(0);
    if (depth > 0)
        walk(o, depth - 1);
    else
        while (f && o->frame_count < CBODY_FRAMES) {
            o->frames[o->frame_count++] = f->return_address;
            if (f->caller && (f->caller <= f || (char *)f->caller - (char *)f > o->depth)) {
                o->broken++;
                return;
            }
            f = f->caller;
        }
    __asm__ volatile("" ::: "memory");
}

void cbody_walk(void *order) {
    walk(order, CBODY_UNWIND_DEPTH);
    __asm__ volatile("" ::: "memory");
}
