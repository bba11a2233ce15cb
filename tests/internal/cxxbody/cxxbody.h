/* C++ bodies for fibers. */
#ifndef FIBERLAB_TESTS_CXXBODY_H
#define FIBERLAB_TESTS_CXXBODY_H

#include <stdint.h>

#include "../../../fiber/fiberlab.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a body is told to do and what it answers. It lies in C memory, and may be changed only
 * while the body does not run. */
struct cxx_order {
    fiberlab_fiber *peer; /* the fiber to switch to */
    int64_t number;       /* what its exceptions are known by */
    int64_t turns;        /* switches in each place */
    int64_t done;         /* switches that came back */
    int64_t wrong; /* exceptions that were not the body's own, and counts that were not right */
};

/* Switches inside a catch clause, inside a nested one, and in a destructor while an exception
 * is on its way; each time it looks whether it finds what it left. */
void cxx_catch_body(void *order);

#ifdef __cplusplus
}
#endif

#endif
