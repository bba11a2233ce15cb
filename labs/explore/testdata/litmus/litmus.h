/* What the litmus tests have in common. Each is one shape; macros vary its memory orders. The
 * shared variables are atomic and begin as 0. The outcome is a number with a digit for each value
 * that the comment names, in that order. */
#ifndef LITMUS_H
#define LITMUS_H

#include <explore.h>
#include <stdatomic.h>
#include <stddef.h>

#define rlx memory_order_relaxed
#define acq memory_order_acquire
#define rel memory_order_release
#define acq_rel memory_order_acq_rel
#define sc memory_order_seq_cst

#define set(object, value, order) atomic_store_explicit(&(object), value, order)
#define get(object, order) atomic_load_explicit(&(object), order)

/* Runs the bodies as threads, and waits for their end. */
#define together(...)                                                                              \
    do {                                                                                           \
        void (*const bodies[])(void *) = {__VA_ARGS__};                                            \
        int threads[sizeof bodies / sizeof *bodies];                                               \
        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {                              \
            threads[i] = explore_start(bodies[i], NULL);                                           \
        }                                                                                          \
        for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {                              \
            explore_join(threads[i]);                                                              \
        }                                                                                          \
    } while (0)

#endif
