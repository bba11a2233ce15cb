/* The bakery algorithm: a thread draws a number, and waits for all threads with smaller ones.
 *
 * From L. Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem", Communications of
 * the ACM 17 (1974). With -DNOT_CHOOSING a thread does not say that it is about to draw: one that
 * has a number passes it by, although it is about to get the same. With -DRELAXED a thread misses
 * the number of another one. */
#include "exclusion.h"
#include <stdatomic.h>

#ifdef RELAXED
#define ORDER memory_order_relaxed
#else
#define ORDER memory_order_seq_cst
#endif

static atomic_int number[2];
#ifndef NOT_CHOOSING
static atomic_int choosing[2];
#endif

static void enter(int me) {
    int other = 1 - me;

#ifndef NOT_CHOOSING
    atomic_store_explicit(&choosing[me], 1, ORDER);
#endif
    int mine = 1 + atomic_load_explicit(&number[other], ORDER);
    atomic_store_explicit(&number[me], mine, ORDER);
#ifndef NOT_CHOOSING
    atomic_store_explicit(&choosing[me], 0, ORDER);
    while (atomic_load_explicit(&choosing[other], ORDER)) {
        explore_yield();
    }
#endif
    for (;;) {
        int theirs = atomic_load_explicit(&number[other], ORDER);
        if (theirs == 0 || mine < theirs || (mine == theirs && me < other)) {
            return;
        }
        explore_yield();
    }
}

static void leave(int me) {
    atomic_store_explicit(&number[me], 0, ORDER);
}
