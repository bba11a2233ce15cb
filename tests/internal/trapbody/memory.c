/* Memory that is refused. The program has its own aligned_alloc, by which
 * control blocks and contexts are made: it passes on what it may. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "trapbody.h"

static int64_t left = -1; /* calls that may still succeed; without bound when negative */
static uint64_t refusals;

void *aligned_alloc(size_t alignment, size_t size) {
    static void *(*next)(size_t, size_t);
    void *(*found)(size_t, size_t) = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, "aligned_alloc");
        __atomic_store_n(&next, found, __ATOMIC_RELEASE);
    }
    int64_t n = __atomic_load_n(&left, __ATOMIC_RELAXED);
    if (n == 0 || !found) {
        __atomic_fetch_add(&refusals, 1, __ATOMIC_RELAXED);
        errno = ENOMEM;
        return NULL;
    }
    if (n > 0)
        __atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED);
    return found(alignment, size);
}

void trap_ration(int64_t calls) {
    __atomic_store_n(&left, calls, __ATOMIC_RELAXED);
}

uint64_t trap_refusals(void) {
    return __atomic_load_n(&refusals, __ATOMIC_RELAXED);
}
