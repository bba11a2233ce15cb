/* Where the runtime learns the bounds of a stack. glibc's answer
 * comes from pthread_getattr_np, so the program has a replacement that counts
 * and passes on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "trapbody.h"
#include "../../../fiber/core.h"

static uint64_t glibc_answers;

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
    static int (*next)(pthread_t, pthread_attr_t *);
    int (*found)(pthread_t, pthread_attr_t *) = __atomic_load_n(&next, __ATOMIC_ACQUIRE);
    if (!found) {
        *(void **)&found = dlsym(RTLD_NEXT, "pthread_getattr_np");
        __atomic_store_n(&next, found, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&glibc_answers, 1, __ATOMIC_RELAXED);
    return found ? found(thread, attributes) : ENOSYS;
}

static void (*answer)(uintptr_t bounds[2]);
static uint64_t marked;

static void answer_and_mark(uintptr_t bounds[2]) {
    answer(bounds);
    uint32_t *mark = fiberlab_mark(fiberlab_m());
    if (!mark)
        return;
    __atomic_store_n(mark, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&marked, 1, __ATOMIC_RELAXED);
}

void *trap_mark_lent(void *answers) {
    *(void **)&answer = answers;
    return (void *)answer_and_mark;
}

uint64_t trap_marked(void) {
    return __atomic_load_n(&marked, __ATOMIC_RELAXED);
}

uint64_t trap_glibc_answers(void) {
    return __atomic_load_n(&glibc_answers, __ATOMIC_RELAXED);
}

uint64_t trap_fiber_answers(void) {
    return __atomic_load_n(&fiberlab_stack_bound_answers, __ATOMIC_RELAXED);
}
