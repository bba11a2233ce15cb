/* The interface of fiberlab for C code that runs on fibers.
 *
 * A C body is a function void (*)(void *) handed to fiber.NewC. It runs on a
 * separate stack and may switch away in mid-call, however deep its frames
 * are; the thread goes on with the fiber that it switched to. It may call exported
 * Go functions: the first such call lends the fiber an identity in
 * the Go runtime, which it gives back when it ends.
 *
 * Such a Go function must not call runtime.Goexit, which the Go runtime treats as
 * fatal there. A handle is good until its fiber is closed; after that it may name
 * another fiber.
 *
 * A body may be C++, and switch inside a catch clause. No exception may leave it. A C++ runtime
 * that comes in by dlopen must be there before the threads attach that run such bodies.
 *
 * When a body returns, its fiber is finished and the thread goes back to its
 * root fiber.
 */
#ifndef FIBERLAB_H
#define FIBERLAB_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fiberlab_fiber fiberlab_fiber;

/* What fiberlab_switch answers. */
enum fiberlab_error {
    FIBERLAB_OK = 0,
    FIBERLAB_NOT_FIBER,    /* the calling thread has no root fiber: attach it first */
    FIBERLAB_NOT_CURRENT,  /* the fiber named as leaving does not run here */
    FIBERLAB_SELF,         /* a fiber cannot switch to itself */
    FIBERLAB_RUNNING,      /* the target runs on another thread */
    FIBERLAB_FINISHED,     /* the target's body has returned */
    FIBERLAB_CLOSED,       /* the target was closed */
    FIBERLAB_FOREIGN_ROOT, /* the target is the root fiber of another thread */
    FIBERLAB_NO_MEMORY,    /* no memory to save the calling root's context */
};

/* Returns the fiber that runs on the calling thread, or NULL when the thread has none.
 * Costs a thread-local load; never blocks. */
fiberlab_fiber *fiberlab_current(void);

/* Suspends the calling fiber and runs to. Returns FIBERLAB_OK when a fiber
 * switches back, possibly on another thread: do not keep the address of a
 * thread-local variable (errno is one) over this call. Returns another
 * fiberlab_error at once, with nothing changed, when to cannot be run. */
int fiberlab_switch(fiberlab_fiber *to);

/* Returns a line of English for a fiberlab_error. */
const char *fiberlab_error_text(int error);

#ifdef __cplusplus
}
#endif

#endif
