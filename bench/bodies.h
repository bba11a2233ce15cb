/* C bodies for the fibers of the creation benchmark: the face for Go. */
#ifndef FIBERLAB_BENCH_BODIES_H
#define FIBERLAB_BENCH_BODIES_H

/* Returns at once. */
void return_body(void *unused);

/* Switches back to root, a fiberlab_fiber, once, and returns when it is resumed. */
void hold_body(void *root);

#endif
