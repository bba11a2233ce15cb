/* C bodies for fibers, and C functions that Go functions on fibers call. */
#ifndef FIBERLAB_TESTS_CBODY_H
#define FIBERLAB_TESTS_CBODY_H

#include <stddef.h>
#include <stdint.h>

#include "../../../fiber/fiberlab.h"

enum { CBODY_FRAMES = 64, CBODY_UNWIND_DEPTH = 5 };

/* What a body is told to do and what it answers. It lies in C memory. */
struct cbody_order {
    fiberlab_fiber *peer; /* the fiber to switch to */
    int64_t turns;        /* how often */
    int64_t depth;        /* bytes of stack to fill, or that there are */
    int64_t mode;         /* a rounding mode of fenv.h */
    uintptr_t callback;   /* a cgo.Handle of a func() */

    int64_t done;         /* switches that came back */
    int64_t broken;       /* words on the stack that had changed when they did */
    int64_t code;         /* the last fiberlab_error that was not FIBERLAB_OK */
    int64_t mode_before;  /* the rounding mode that the body began with */
    int64_t mode_after;   /* and the mode that it found when it came back */
    fiberlab_fiber *self; /* what fiberlab_current said */
    void *frames[CBODY_FRAMES];
    int64_t frame_count; /* return addresses in frames, innermost first */
};

/* Bodies. Each takes an order. */
void cbody_return(void *order); /* returns at once */
void cbody_turns(void *order);  /* switches to peer, turns times, with a word in every register */
void cbody_deep(void *order);   /* fills depth bytes of stack, then does as cbody_turns */
void cbody_call(void *order);   /* calls the Go function callback */
void cbody_round(void *order);  /* sets a rounding mode, switches to peer, and looks again */
void cbody_backtrace(void *order); /* takes a backtrace(3) from some frames deep */
void cbody_walk(void *order);      /* follows the frame pointers instead */

/* Bodies that take no order. */
void cbody_nothing(void *unused); /* returns at once */
void cbody_hold(void *root);      /* switches to root, a fiber, once */

/* Functions. */
void cbody_call_go(uintptr_t callback);
int64_t cbody_deep_call_go(uintptr_t callback, int64_t depth); /* answers broken */
int cbody_start(int threads, int in_go); /* starts threads that stay, and returns an errno */
void cbody_stay(void);                   /* returns when cbody_end is called */
void cbody_end(void);                    /* ends these threads, and waits for them */

#endif
