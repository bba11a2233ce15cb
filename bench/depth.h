/* The depth of pingpong_deep and pingpong_deep_call: the face for Go. */
#ifndef FIBERLAB_BENCH_DEPTH_H
#define FIBERLAB_BENCH_DEPTH_H

#include "pingpong.h"

/* Sets how many frames, at least 1, are between a side and its switch, from the next run on. */
void depth_set(size_t frames);

#endif
