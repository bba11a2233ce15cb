/* The stacks of lab 4. Given: the grader reads and writes these structures, so leave them as they
 * are.
 *
 *    |   guard page   | usable bytes                    |
 *    ^                ^                                 ^
 *    lo - page        lo                                lo + size
 */
#ifndef LAB_STACK_H
#define LAB_STACK_H

#include <stddef.h>

struct stack {
    char *lo;    /* the lowest usable byte */
    size_t size; /* the number of usable bytes, from lo on */
};

struct fiber {
    const char *name;
    struct stack stack;
};

/* Maps a stack of size usable bytes, rounded up to whole pages. The page below lo cannot be
 * touched; there may be more such guard pages below and above the stack, and nothing else. Returns
 * 0, EINVAL if size is 0, or ENOMEM if there is no such memory, or whatever else the kernel
 * answers. After an error nothing stays mapped and *s is unchanged. */
int stack_map(struct stack *s, size_t size);

/* Gives all of it back, guard page included. Returns 0, or what the kernel answers. Nothing may
 * run on the stack. */
int stack_unmap(const struct stack *s);

/* From now on, a fiber that runs into its guard page ends the process with that exit status. First
 * it writes a line to standard error that has its own name in it and no other fiber's. Any other
 * fault ends the process as it would have without this call. The count fibers stay where they are.
 * Returns 0, or what the kernel answers. Call it once, on the thread that runs the fibers. */
int overflow_watch(const struct fiber *fibers, size_t count, int status);

#endif
