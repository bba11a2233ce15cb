/* Memory of slabs: see slab.go. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "core.h"

/* Returns size bytes that are zero, in whole pages, or NULL when there is no memory. They are never
 * freed. */
void *fiberlab_slab_new(size_t size) {
    void *slab = aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);
    if (slab)
        memset(slab, 0, size);
    return slab;
}

/* Gives the pages of a slab back to the system. Its bytes are zero afterwards, or as they were if
 * the memory is locked. */
void fiberlab_slab_release(void *slab, size_t size) {
    madvise(slab, size, MADV_DONTNEED);
}

/* Gives the pages of C's heap that are free back to the system. Returns 0 if there were none. */
int fiberlab_heap_release(void) {
#ifdef __GLIBC__
    return malloc_trim(0);
#else
    return 0;
#endif
}
