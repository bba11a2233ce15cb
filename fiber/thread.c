/* The record that each thread has of its fibers. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "core.h"

/* Initial-exec: at a fixed distance from the thread pointer in every thread, so
 * that Go assembly can read it too. */
static __thread struct fiberlab_thread self __attribute__((tls_model("initial-exec")));

ptrdiff_t fiberlab_thread_offset;

/* In a plugin of a host that has this package too, the linker takes the host's functions and
 * variables for the plugin's. Only self and this function are there twice; the host's record
 * counts. */
__attribute__((constructor)) static void find_self(void) {
    if (!fiberlab_thread_offset)
        fiberlab_thread_offset = (char *)&self - fiberlab_tp();
}

/* Enters root, which has its scratch, in the record of the calling thread, which has no root. */
static void enter(fiberlab_fiber *root, uintptr_t m) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (thread->tid == 0)
        thread->tid = gettid();
    thread->exceptions = fiberlab_thread_exceptions();
    root->g = *fiberlab_slot();
    root->tid = thread->tid;
    root->go_m = m;
    root->p = fiberlab_p();
    thread->root = thread->current = root;
    thread->root_index = thread->current_index = root->index;
}

/* Clears the record of the calling thread but for the thread's number, if root is its root and
 * runs. */
static int clear(const fiberlab_fiber *root) {
    struct fiberlab_thread *thread = fiberlab_thread_self();
    if (thread->root != root)
        return thread->root ? FIBERLAB_FOREIGN_ROOT : FIBERLAB_NOT_FIBER;
    if (thread->current != root)
        return FIBERLAB_NOT_CURRENT;
    *thread = (struct fiberlab_thread){.tid = thread->tid};
    return FIBERLAB_OK;
}

/* Makes root the root fiber of the calling thread, with the thread's stack, M m and
 * goroutine g. The caller is in a C call made from Go and stays on this thread until it detaches
 * or unties itself.
 * Returns FIBERLAB_OK, FIBERLAB_RUNNING if the thread has a root already, or FIBERLAB_NO_MEMORY. */
int fiberlab_attach(fiberlab_fiber *root, uintptr_t m, uintptr_t g) {
    if (fiberlab_thread_self()->root)
        return FIBERLAB_RUNNING;
    root->scratch = malloc(FIBERLAB_SCRATCH);
    if (!root->scratch)
        return FIBERLAB_NO_MEMORY;
    fiberlab_find_exceptions();
    root->root = 1;
    root->gone = 0;
    root->m = NULL;
    root->go_g = g;
    enter(root, m);
    fiberlab_thread_self()->has_key = fiberlab_identity_has_key();
    return FIBERLAB_OK;
}

/* Makes the calling thread one without a root. Only the root itself may call it. */
int fiberlab_detach(fiberlab_fiber *root) {
    int error = clear(root);
    if (error != FIBERLAB_OK)
        return error;
    free(root->scratch);
    root->scratch = NULL;
    root->root = 0;
    root->go_m = root->go_g = 0;
    return FIBERLAB_OK;
}

/* Takes the root off the calling thread, which it runs on, until fiberlab_tie. A thread that C
 * made keeps its root, since its key names its own g: then it returns FIBERLAB_FOREIGN_ROOT. */
int fiberlab_untie(fiberlab_fiber *root) {
    if (fiberlab_thread_self()->has_key)
        return FIBERLAB_FOREIGN_ROOT;
    return clear(root);
}

/* Makes root, which was untied, the root of the calling thread, which has M m and was made by Go.
 * Returns FIBERLAB_OK, or FIBERLAB_RUNNING if the thread has a root already. */
int fiberlab_tie(fiberlab_fiber *root, uintptr_t m) {
    if (fiberlab_thread_self()->root)
        return FIBERLAB_RUNNING;
    enter(root, m);
    return FIBERLAB_OK;
}

ptrdiff_t fiberlab_current_index_offset(void) {
    return (char *)&self.current_index - fiberlab_tp();
}

ptrdiff_t fiberlab_root_index_offset(void) {
    return (char *)&self.root_index - fiberlab_tp();
}
