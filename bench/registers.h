/* Switches that save one group of registers each: the face for Go. */
#ifndef FIBERLAB_BENCH_REGISTERS_H
#define FIBERLAB_BENCH_REGISTERS_H

#include "pingpong.h"

struct registers {
    const char *name, *says;
    pingpong *loop;
};

enum { REGISTER_GROUPS = 4 };

/* The first saves none. */
extern const struct registers register_groups[REGISTER_GROUPS];

#endif
