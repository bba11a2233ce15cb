/* The loop alone: its cost is in the figures of all switches in C. */
#define PINGPONG pingpong_floor
#define CONTEXT char
#define SET_TARGET(to, stack, size, target, arg) ((void)(stack), (void)(size), (void)(target))
#define SWAP(from, to) __asm__ volatile("" ::"r"(from), "r"(to) : "memory")
#include "pingpong.h"
