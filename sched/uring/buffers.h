/* buffers.h - the buffers of a ring; see struct fiberlab_buffers. */
#ifndef FIBERLAB_URING_BUFFERS_H
#define FIBERLAB_URING_BUFFERS_H

#include "ring.h"

/* Gives buffers back to the kernel, as many as it shall have. */
void fiberlab_buffers_return(struct fiberlab_buffers *buffers);

/* Frees all but the memory that is received into. The ring must have ended. */
void fiberlab_buffers_free(struct fiberlab_buffers *buffers);

#endif
