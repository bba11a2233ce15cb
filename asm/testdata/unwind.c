/* Both kinds of unwinder stop at the bottom of a fiber. */
#include "prober.h"

#include <execinfo.h>
#include <stdio.h>
#include <unwind.h>

enum { DEPTH = 5, MOST = 100 };

static const struct variant *variant;
static void *here, *there;
static void *frames[MOST];
static int count;

static int in_outermost(const void *address) {
    const char *start = variant->outermost, *p = address;

    return p > start && p <= start + variant->outermost_size;
}

__attribute__((noinline, noclone)) static void call_backtrace(int depth) {
    if (depth > 0)
        call_backtrace(depth - 1);
    else
        count = backtrace(frames, MOST);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

/* backtrace() of the C library stops where it makes no progress. C++ and others that unwind do not.
 */
static _Unwind_Reason_Code record(struct _Unwind_Context *context, void *unused) {
    void *address = (void *)_Unwind_GetIP(context);

    (void)unused;
    if (address == NULL)
        return _URC_NO_REASON;
    frames[count++] = address;
    return count < MOST ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

__attribute__((noinline, noclone)) static void call_unwind(int depth) {
    if (depth > 0) {
        call_unwind(depth - 1);
    } else {
        count = 0;
        _Unwind_Backtrace(record, NULL);
    }
    __asm__ volatile("" ::: "memory");
}

/* A return address as it was before the processor signed it. */
static void *plain(void *address) {
#if defined(__aarch64__)
    register void *x30 __asm__("x30") = address;

    __asm__("hint #7" : "+r"(x30)); /* xpaclri, a nop where there are no signatures */
    return x30;
#else
    return address;
#endif
}

/* A frame starts with the caller's frame pointer, followed by the return address, on both
 * architectures. */
struct frame {
    const struct frame *caller;
    void *return_address;
};

__attribute__((noinline, noclone)) static void follow_frame_pointers(int depth) {
    const struct frame *f = __builtin_frame_address(0);

    if (depth > 0)
        follow_frame_pointers(depth - 1);
    else
        for (count = 0; f != NULL && count < MOST; f = f->caller)
            frames[count++] = plain(f->return_address);
    __asm__ volatile("" ::: "memory");
}

static void fiber(void *arg) {
    void (*walk)(int) = *(void (**)(int))arg;

    walk(DEPTH);
    variant->swap(there, here);
}

static int walk_in_fiber(const struct variant *v, void (*walk)(int), const char *name) {
    const size_t size = 262144; /* the first backtrace loads a library */

    variant = v;
    here = new_context(v);
    there = new_context(v);
    v->set_target(there, new_stack(size), size, fiber, &walk);
    v->swap(here, there);
    if (count < DEPTH + 2 || count > DEPTH + 5)
        return printf("%s: %s in a fiber found %d frames\n", v->name, name, count), 1;
    if (v->outermost != NULL && !in_outermost(frames[count - 1]))
        return printf("%s: %s in a fiber ended at %p, not in %p\n", v->name, name,
                      frames[count - 1], v->outermost),
               1;
    return 0;
}

int check_backtrace(const struct variant *v) {
    return walk_in_fiber(v, call_backtrace, "backtrace()") ||
           walk_in_fiber(v, call_unwind, "_Unwind_Backtrace()");
}

int check_frames(const struct variant *v) {
    return walk_in_fiber(v, follow_frame_pointers, "a walk by frame pointers");
}
