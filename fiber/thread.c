/* The record that each thread has of its fibers. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "core.h"

/* Initial-exec: at a fixed distance from the thread pointer in every thread, so
 * that Go assembly can read it too. */
static __thread struct fiberlab_thread self __attribute__((tls_model("initial-exec")));

ptrdiff_t fiberlab_thread_offset;

__attribute__((constructor)) static void find_self(void) {
    fiberlab_thread_offset = (char *)&self - fiberlab_tp();
}

/* Makes root the root fiber of the calling thread, with the thread's stack, M m and
 * goroutine g. The caller is in a C call made from Go and stays on this thread until it detaches.
 * Returns FIBERLAB_OK, FIBERLAB_RUNNING if the thread has a root already, or FIBERLAB_NO_MEMORY. */
int fiberlab_attach(fiberlab_fiber *root, uintptr_t m, uintptr_t g) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (thread->root)
        return FIBERLAB_RUNNING;
    thread->scratch = malloc(FIBERLAB_SCRATCH);
    if (!thread->scratch)
        return FIBERLAB_NO_MEMORY;
    thread->exceptions = fiberlab_thread_exceptions();
    root->root = 1;
    root->gone = 0;
    root->g = *fiberlab_slot();
    thread->key_g = fiberlab_identity_key();
    root->tid = thread->tid = gettid();
    root->m = NULL;
    root->go_m = m;
    root->go_g = g;
    root->p = fiberlab_p();
    thread->root = thread->current = root;
    thread->root_index = thread->current_index = root->index;
    return FIBERLAB_OK;
}

/* Makes the calling thread one without a root. Only the root itself may call it. */
int fiberlab_detach(fiberlab_fiber *root) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (thread->root != root)
        return thread->root ? FIBERLAB_FOREIGN_ROOT : FIBERLAB_NOT_FIBER;
    if (thread->current != root)
        return FIBERLAB_NOT_CURRENT;
    free(thread->scratch);
    *thread = (struct fiberlab_thread){0};
    root->root = 0;
    root->go_m = root->go_g = 0;
    return FIBERLAB_OK;
}

ptrdiff_t fiberlab_current_index_offset(void) {
    return (char *)&self.current_index - fiberlab_tp();
}

ptrdiff_t fiberlab_root_index_offset(void) {
    return (char *)&self.root_index - fiberlab_tp();
}
