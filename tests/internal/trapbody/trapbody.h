/* C functions and bodies for the tests of traps: deep stacks, threads made by C,
 * signals, crashes, and memory that runs out. */
#ifndef FIBERLAB_TESTS_TRAPBODY_H
#define FIBERLAB_TESTS_TRAPBODY_H

#include <stddef.h>
#include <stdint.h>

/* AddressSanitizer marks the frame of a C function until the function returns. A panic or Goexit
 * may throw the frame away, and AddressSanitizer does not learn of it. It would report an overflow
 * when the thread next uses that part of its stack. So functions that panics may pass are not
 * marked. */
#define UNMARKED __attribute__((no_sanitize("address")))

UNMARKED void trapbodyGo(uintptr_t callback); /* in Go: calls a callback */

/* deep.c. A callback is a cgo.Handle of a func(). */
UNMARKED void trap_call(uintptr_t callback);
UNMARKED int trap_call_deep(size_t bytes, uintptr_t callback); /* 1 if the stack was left intact */
int trap_call_on_thread(uintptr_t callback);                   /* an errno */
void trap_call_body(void *callback);                           /* a body; points to the handle */

/* bounds.c: how often the process asked glibc for the bounds of a thread's stack. */
uint64_t trap_glibc_answers(void);
uint64_t trap_fiber_answers(void);
/* Returns a function for the runtime to ask for the bounds of a stack. It calls answers, and then
 * marks the M that is being lent as having a signal on its way. */
void *trap_mark_lent(void *answers);
uint64_t trap_marked(void); /* how many it has marked */

/* signals.c */
struct trap_laps {
    void *peer;     /* a fiberlab_fiber */
    int64_t laps;   /* switches to make */
    int64_t done;   /* switches that came back */
    int64_t broken; /* words on the stack that had changed when they did */
};
void trap_lap_body(void *laps);   /* switches to peer, laps times; keeps away from Go */
uint64_t trap_blocked(void);      /* the mask of blocked signals of the calling thread */
int trap_block(int how, int sig); /* pthread_sigmask for one signal; an errno */
int trap_alternate_stack(void);   /* 1 if the calling thread has an alternate signal stack */
int trap_keep_registers(void);    /* copies them into thread-local storage, twice; 0 if it could */

/* crash.c */
void trap_overflow(void *unused);
void trap_nil(void *unused);
void trap_divide(void *unused);     /* SIGFPE */
void trap_illegal(void *unused);    /* SIGILL */
void trap_breakpoint(void *unused); /* SIGTRAP */
void trap_bus(void *unused);        /* SIGBUS */
void trap_abort(void *unused);
void trap_nil_after_go(void *callback); /* a body that has been in Go and is back in C */
int trap_return_from_target(void); /* has a bare context's target return; comes back if it cannot */

/* edge.c */
struct trap_edge {
    void *peer;   /* a fiberlab_fiber */
    uintptr_t lo; /* where the body's stack ends */
    size_t left;  /* bytes between that and the place in question */
    int64_t code; /* a fiberlab_error */
};
void trap_edge_body(void *edge); /* switches to peer with so many bytes of stack left */
void trap_step_body(void *edge); /* writes so many bytes below the end of its stack */

struct trap_spill {
    size_t words;
    uint64_t secret;
};
void trap_spill(size_t words, uint64_t secret); /* fills so much of the stack, and returns */
UNMARKED size_t trap_count(uintptr_t lo, size_t words,
                           uint64_t secret); /* how many of those words are it */
void trap_spill_body(void *order);           /* the same as a body; takes a trap_spill */

/* memory.c */
void trap_ration(int64_t calls); /* how many calls of aligned_alloc may succeed; negative: all */
uint64_t trap_refusals(void);    /* how many did not */

#endif
